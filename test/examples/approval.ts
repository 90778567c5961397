import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
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
const directory = await mkdtemp(join(tmpdir(), "troupe-approval-"))
const open = (turn: ReturnType<typeof text>) =>
  start({ agents: [shop], tools: [refund], model: scripted([turn]), store: { directory } })

// The run asks, its actor's fiber waits, and the process stops.
const first = await open(call("refund", { order: "1003" }))
const asked = await first.ask({ agent: "shop", text: "Pay order 1003 back" })
console.log(asked.status)
await first.stop()

// Another process finds the question. No fiber awaits it there: the decision is read from the journal.
const second = await open(text("It is paid back."))
const [question] = await second.pending(boss)
console.log(question?.payload.tool_name, question?.payload.args_summary)
await second.decide(question!.id, { _tag: "Approve" }, boss)
console.log((await second.result(asked.run)).text)
await second.stop()
await rm(directory, { recursive: true })

// Output:
// awaiting_approval
// refund order: "1003"
// It is paid back.
