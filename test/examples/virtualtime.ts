import { Schema } from "effect"
import { AgentSpec, Principal, tool } from "troupe"
import { call, driveApprovals, scripted, startVirtual, text } from "troupe/testing"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    approval_expires_ms: 3_600_000,
    input: Schema.Struct({ order: Schema.String })
  },
  async ({ order }) => `order ${order} is paid back`
)
const shop = AgentSpec.make({ name: "shop", instructions: "Help customers.", tools: ["refund"] })
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })
const asks = call("refund", { order: "1003" })
const model = scripted([asks, text("Denied."), asks, text("Nobody answered.")])

const troupe = await startVirtual({ agents: [shop], tools: [refund], model })
const message = { agent: "shop", text: "Pay order 1003 back" }

// The people of the test answer by tool, or by a function of the question.
const first = await troupe.send(message)
const rules = { refund: { decision: "deny", reason: "it was sold" } } as const
const { answer, decisions } = await driveApprovals(troupe, first.run, rules, boss)
console.log(decisions.length, answer.text)

// An hour passes.
const second = await troupe.ask(message)
console.log(second.status)
await troupe.advance("1 hour")
console.log((await troupe.result(second.run)).text)
await troupe.stop()

// Output:
// 1 Denied.
// awaiting_approval
// Nobody answered.
