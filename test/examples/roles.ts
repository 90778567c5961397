import { Schema } from "effect"
import { AgentSpec, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    approvers: ["auditor"],
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `order ${order} is paid back`
)
const shop = AgentSpec.make({
  name: "shop",
  instructions: "Help customers.",
  tools: ["refund"]
})
const model = scripted([call("refund", { order: "1003" }), text("It is paid back.")])

const troupe = await start({
  agents: [shop],
  tools: [refund],
  model,
  roles: {
    auditor: { inspect: "all", follow: "all", decide: "named" },
    desk: { send: "all", follow: "all" }
  }
})
const dora = { id: "dora", tenant: "default", roles: ["desk"] }
const audrey = { id: "audrey", tenant: "default", roles: ["auditor"] }

const { run } = await troupe.ask({ agent: "shop", text: "Pay order 1003 back" }, dora)
const refused = (error: Error) => console.log(error.message)
await troupe.send({ agent: "shop", text: "And 1004" }, audrey).catch(refused)
await troupe.pending(dora).catch(refused)
for (const { id, approvers } of await troupe.pending(audrey)) {
  console.log(approvers)
  await troupe.decide(id, { _tag: "Approve" }, audrey)
}
console.log((await troupe.result(run, dora)).text)
await troupe.stop()

// Output:
// audrey holds none of the roles that may do this: operator, customer, desk
// dora holds none of the roles that may do this: viewer, approver, operator, auditor
// [ 'auditor' ]
// It is paid back.
