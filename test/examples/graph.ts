import { Schema } from "effect"
import { AgentSpec, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const graph = `
name: restock
description: Orders what is missing of an article.
input: { type: object, properties: { article: { type: string } }, required: [article] }
nodes:
  - id: count
    kind: tool
    tool: stock.count@1
    inputs: { article: "{{state.article}}" }
    out: found
  - id: order
    kind: tool
    tool: stock.order@1
    inputs: { article: "{{state.article}}", pieces: "{{state.found.missing}}" }
    static: { supplier: acme }
    out: order
output: "{{state.order.number}} for {{state.found.missing}} pieces"
`
const count = tool(
  {
    namespace: "stock",
    name: "count",
    side_effects: "read",
    input: Schema.Struct({ article: Schema.String })
  },
  () => ({ missing: 12 })
)
const order = tool(
  {
    namespace: "stock",
    name: "order",
    side_effects: "external",
    permission: "allow",
    input: Schema.Struct({
      article: Schema.String,
      pieces: Schema.Int,
      supplier: Schema.String
    })
  },
  ({ pieces, supplier }) => ({ number: `${supplier}-${pieces}` })
)
const clerk = AgentSpec.make({
  name: "clerk",
  instructions: "Keep the shelves full.",
  specialists: ["restock"]
})

const troupe = await start({
  agents: [clerk],
  graphs: [graph],
  tools: [count, order],
  model: scripted([call("ask_restock", { article: "tea" }), text("Tea is on its way.")])
})
const direct = await troupe.ask({ agent: "restock", text: `{"article":"tea"}` })
console.log(direct.text)
const asked = await troupe.ask({ agent: "clerk", text: "There is no tea." })
console.log(asked.text)
await troupe.stop()

// Output:
// acme-12 for 12 pieces
// Tea is on its way.
