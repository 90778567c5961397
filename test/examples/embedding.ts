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
    input: Schema.Struct({ order: Schema.String })
  },
  async ({ order }) => `order ${order} is paid back`
)
const shop = AgentSpec.make({
  name: "shop",
  instructions: "Help customers.",
  tools: ["refund"]
})
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })
// A live one: "anthropic/claude-sonnet-4-5".
const model = scripted([call("refund", { order: "1003" }), text("It is paid back.")])
const troupe = await start({ agents: [shop], tools: [refund], model })
const { run, status } = await troupe.ask({ agent: "shop", text: "Pay order 1003 back" })
for (const { id, payload } of await troupe.pending(boss)) {
  console.log(status, payload.tool_name, payload.args_summary)
  await troupe.decide(id, { _tag: "Approve" }, boss)
}
console.log((await troupe.result(run)).text)
await troupe.stop()

// Output:
// awaiting_approval refund order: "1003"
// It is paid back.
