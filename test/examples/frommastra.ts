import { AgentSpec, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import * as z from "zod"

const count = tool(
  {
    namespace: "stock",
    name: "count",
    description: "Counts what is missing.",
    side_effects: "read",
    input: z.object({ article: z.string() }),
    output: z.object({ missing: z.number() })
  },
  async () => ({ missing: 12 })
)
// `suspend()` has no equal: a step that changes something asks before it runs.
const order = tool(
  {
    namespace: "stock",
    name: "order",
    description: "Orders.",
    side_effects: "external",
    input: z.object({ article: z.string(), pieces: z.number() }),
    output: z.object({ number: z.string() })
  },
  async ({ article, pieces }) => ({ number: `${article}-${pieces}` })
)
// A workflow: steps, and what flows between them.
const restock = {
  name: "restock",
  description: "Orders what is missing of an article.",
  input: { type: "object", properties: { article: { type: "string" } }, required: ["article"] },
  nodes: [
    {
      id: "count",
      kind: "tool",
      tool: "stock.count@1",
      inputs: { article: "{{state.article}}" },
      out: "found"
    },
    {
      id: "order",
      kind: "tool",
      tool: "stock.order@1",
      inputs: { article: "{{state.article}}", pieces: "{{state.found.missing}}" },
      out: "order"
    }
  ],
  output: "order {{state.order.number}}"
}
// An agent that may start it.
const clerk = AgentSpec.make({
  name: "clerk",
  instructions: "Keep the shelves full.",
  specialists: ["restock"]
})
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })
const troupe = await start({
  agents: [clerk],
  graphs: [JSON.stringify(restock)],
  tools: [count, order],
  model: scripted([call("ask_restock", { article: "tea" }), text("Tea is on its way.")])
})

const direct = await troupe.ask({ agent: "restock", text: `{"article":"milk"}` })
console.log(direct.status)
await troupe.decide((await troupe.pending(boss))[0]!.id, { decision: "approve" }, boss)
console.log((await troupe.result(direct.run)).text)

const asked = await troupe.ask({ agent: "clerk", text: "There is no tea." })
await troupe.decide((await troupe.pending(boss))[0]!.id, { decision: "approve" }, boss)
console.log((await troupe.result(asked.run)).text)
await troupe.stop()

// Output:
// awaiting_approval
// order milk-12
// Tea is on its way.
