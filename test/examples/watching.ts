import { Schema } from "effect"
import { AgentSpec, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String }),
    output: Schema.String
  },
  async ({ order }) => `order ${order} is paid back`
)
const shop = AgentSpec.make({
  name: "shop",
  instructions: "Help customers.",
  tools: ["refund"]
})
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })
const model = scripted([call("refund", { order: "1003" }), text("It is paid back.")])

const troupe = await start({ agents: [shop], tools: [refund], model })
const { conversation } = await troupe.send({ agent: "shop", text: "Pay order 1003 back" })
for await (const item of troupe.watch(conversation)) {
  const event = item._tag === "Event" ? item.entry.event : undefined
  if (event?._tag === "ApprovalRequested") {
    console.log(event.payload.tool_name, event.payload.args_summary)
    await troupe.decide(event.approval, { _tag: "Approve" }, boss)
  }
  if (event?._tag === "CallSettled") console.log(event.outcome)
  if (event?._tag === "RunEnded") break
}
await troupe.stop()

// Output:
// refund order: "1003"
// { _tag: 'Value', json: '"order 1003 is paid back"' }
