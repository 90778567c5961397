import { AgentSpec, Principal, tool } from "troupe"
import { createClient } from "troupe/client"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import { Schema } from "effect"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    approvers: ["customer"],
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `order ${order} is paid back`
)
const shop = AgentSpec.make({
  name: "shop",
  instructions: "Help customers.",
  tools: ["refund"]
})
const carl = new Principal({ id: "carl", tenant: "default", roles: ["customer"] })
const token = "7b0a3c5e9d1f48e2a6c4b8d0f2e4a6c8"
const troupe = await start({
  agents: [shop],
  tools: [refund],
  model: scripted([call("refund", { order: "1003" }), text("It is paid back.")]),
  customer_agents: ["shop"],
  http: { port: 0, tokens: [{ token, principal: carl }] }
})

// From here on as in a page, where the address may be a path of its own host and the token comes from its session.
const client = createClient({ url: troupe.url ?? "/agents", token: async () => token })
for await (const part of client.stream({ agent: "shop", text: "Pay 1003 back." })) {
  if (part.type === "text") console.log(part.text)
  if (part.type === "event" && part.event._tag === "ApprovalRequested") {
    console.log(part.event.payload.args_summary)
    await client.decide(part.event.approval, { decision: "approve" })
  }
  if (part.type === "end") console.log(part.answer.status)
}
await troupe.stop()

// Output:
// order: "1003"
// It is paid back.
// complete
