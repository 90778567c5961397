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
    // Nobody answers: the call has the result `Expired`, and the run goes on, also while a side run is at work.
    approval_expires_ms: "2 days",
    input: Schema.Struct({ order: Schema.String })
  },
  async ({ order }) => `order ${order} is paid back`
)
const shop = AgentSpec.make({
  name: "shop",
  instructions: "Help customers.",
  tools: ["refund"],
  mailbox: "answer"
})
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })

const troupe = await start({
  agents: [shop],
  tools: [refund],
  model: scripted([
    call("refund", { order: "1003" }),
    text("A colleague looks at your refund. We open at 9."),
    text("Your refund is on its way.")
  ])
})

const first = await troupe.ask({ agent: "shop", text: "Pay order 1003 back" })
const { conversation } = first
const meanwhile = await troupe.ask({ conversation, text: "When do you open?" })
console.log(first.status, "|", meanwhile.text)

const [question] = await troupe.pending(boss)
await troupe.decide(question!.id, { _tag: "Approve" }, boss)
console.log((await troupe.result(first.run)).text)
await troupe.stop()

// Output:
// awaiting_approval | A colleague looks at your refund. We open at 9.
// Your refund is on its way.
