import { AgentSpec, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import * as z from "zod"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: z.object({ order: z.string() }),
    needs_approval: true
  },
  async ({ order }) => `order ${order} is paid back`
)
const triage = AgentSpec.make({
  name: "triage",
  instructions: "Find out what it is about, and hand it over.",
  handoffs: ["refunds"]
})
const refunds = AgentSpec.make({
  name: "refunds",
  description: "Pays orders back.",
  instructions: "Pay orders back.",
  tools: ["refund"]
})
const model = scripted({
  triage: [call("transfer_to_refunds", { note: "order 1003" })],
  refunds: [call("refund", { order: "1003" }), text('{"order":"1003","paid":true}')]
})
const troupe = await start({ agents: [triage, refunds], tools: [refund], model })
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })

// `run(triage, input, { session })` with an `outputType`.
const answer = z.object({ order: z.string(), paid: z.boolean() })
const message = { agent: "triage", conversation: "session-1", text: "Pay order 1003 back" }
const first = await troupe.ask({ ...message, answer })

// `result.interruptions`: no state to keep and to bring back. Whoever may decide does, in any process, at any time.
if (first.status === "awaiting_approval") {
  for (const { id, payload } of first.approvals) {
    console.log(payload.agent_name, payload.tool_name, payload.args_summary)
    await troupe.decide(id, { decision: "approve" }, boss)
  }
}
const last = await troupe.result(first.run, undefined, { answer })
if (last.status === "complete") console.log(last.agent, last.value)
await troupe.stop()

// Output:
// refunds refund order: "1003"
// refunds { order: '1003', paid: true }
