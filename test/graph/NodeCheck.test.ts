/** Graphs against the tools that they name, at the start and to whoever asked. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { GraphRefused } from "../../src/graph/ToolGraph.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const shelf = { namespace: "stock", side_effects: "read" } as const

const tools = [
  tool(
    { ...shelf, name: "count", input: Schema.Struct({ article: Schema.String }) },
    ({ article }) =>
      article === "gone"
        ? Effect.fail(new ToolUserError({ kind: "not_found", message: "no such article" }))
        : Effect.succeed({ missing: 12, article })
  ),
  tool(
    {
      ...shelf,
      name: "order",
      input: Schema.Struct({
        pieces: Schema.Int.check(Schema.isGreaterThan(0)),
        article: Schema.optionalKey(Schema.String),
        to: Schema.optionalKey(Schema.Struct({ street: Schema.String }))
      }),
      output: Schema.Struct({ number: Schema.String })
    },
    ({ pieces }) => ({ number: `n-${pieces}` })
  ),
  tool(
    {
      ...shelf,
      name: "range",
      input: Schema.Struct({ from: Schema.Int, to: Schema.Int }).check(
        Schema.makeFilter(({ from, to }) => from <= to || "from is after to")
      )
    },
    () => null
  ),
  tool(
    {
      ...shelf,
      name: "put",
      side_effects: "write",
      permission: "allow",
      input: Schema.Struct({ n: Schema.Int })
    },
    ({ n }) => `${n}`
  ),
  tool({ ...shelf, name: "secret", capabilities: "stock.secret" }, () => null),
  tool({ ...shelf, name: "open", input_schema: { type: "object" } }, () => null),
  tool({ ...shelf, name: "order", namespace: "other" }, () => null)
]

const count = (more: object = {}) => ({
  id: "c",
  kind: "tool",
  tool: "stock.count@1",
  inputs: { article: "{{state.article}}" },
  out: "found",
  ...more
})
const order = (inputs: object, more: object = {}) => ({
  id: "o",
  kind: "tool",
  tool: "stock.order@1",
  inputs,
  out: "order",
  ...more
})
const graphOf = (nodes: ReadonlyArray<object>, more: object = {}) =>
  JSON.stringify({
    name: "restock",
    input: {
      type: "object",
      properties: { article: { type: "string" }, pieces: { type: "number" }, any: {} }
    },
    nodes,
    ...more
  })

const started = (graph: string, more?: Partial<Options>) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () =>
        start({ agents: [], graphs: [graph], tools, model: layer([text("unasked")]), ...more }),
      catch: (error) => error as GraphRefused
    }),
    (service) => Effect.promise(() => service.stop())
  )

const refusals: ReadonlyArray<
  readonly [title: string, nodes: ReadonlyArray<object>, node: string, field: string, says: RegExp]
> = [
  [
    "SG-55 a tool that nobody registered",
    [count({ tool: "stock.cont@1" })],
    "c",
    "tool",
    /"stock\.cont@1" not found.*Did you mean "stock\.count@1"/
  ],
  [
    "SG-63 a broker node without the broker's tool",
    [{ id: "b", kind: "broker", agent_id_field: "any", intent_field: "any", output_field: "o" }],
    "b",
    "kind",
    /nautilus\.broker_request@1.*BrokerTools/
  ],
  [
    "a tool that needs a capability which the graph does not have",
    [{ id: "s", kind: "tool", tool: "stock.secret@1" }],
    "s",
    "tool",
    /"stock\.secret"\. Add it to the graph's capabilities/
  ],
  [
    "two tools of one plain name",
    [order({ pieces: 1 }), { id: "p", kind: "tool", tool: "other.order@1" }],
    "p",
    "tool",
    /"other\.order@1" and "stock\.order@1"/
  ],
  [
    "SG-52 no argument where one is required",
    [count({ inputs: {} })],
    "c",
    "inputs.article",
    /"stock\.count@1" needs it \(string\)/
  ],
  [
    "SG-52 a required argument that is missing beside one of the state",
    [order({ article: "{{state.article}}" })],
    "o",
    "inputs.pieces",
    /needs it/
  ],
  [
    "SG-52 a literal of another type",
    [count({ inputs: { article: 3 } })],
    "c",
    "inputs.article",
    /refuses it: Expected string/
  ],
  [
    "SG-52 a literal of another type beside an argument of the state",
    [order({ article: "{{state.article}}" }, { static: { pieces: 0 } })],
    "o",
    "static.pieces",
    /greater than 0/
  ],
  [
    "SG-52 a member of a literal that is not in the schema",
    [order({ pieces: "{{state.pieces}}", to: { stret: "A" } })],
    "o",
    "inputs.to",
    /refuses it/
  ],
  [
    "SG-52 an argument that the tool does not name",
    [count({ inputs: { article: "{{state.article}}", artcle: 1 } })],
    "c",
    "inputs.artcle",
    /no such argument\. Did you mean "article"/
  ],
  [
    "SG-52 an unknown argument among literals",
    [count({ inputs: { article: "tea" }, static: { zzz: 1 } })],
    "c",
    "static.zzz",
    /There is: article/
  ],
  [
    "SG-52 literals that fit one by one and not together",
    [{ id: "r", kind: "tool", tool: "stock.range@1", static: { from: 3, to: 1 } }],
    "r",
    "inputs",
    /from is after to/
  ],
  [
    "SG-53 a field of the input that is declared as another type",
    [order({ pieces: "{{state.article}}" })],
    "o",
    "inputs.pieces",
    /takes number, and this is string/
  ],
  [
    "SG-53 a text around a template where a number is wanted",
    [order({ pieces: "{{state.pieces}} pieces" })],
    "o",
    "inputs.pieces",
    /this is string/
  ],
  [
    "SG-53 a result whose tool declares another type",
    [order({ pieces: 1 }), order({ pieces: "{{state.order.number}}" }, { id: "again", out: "x" })],
    "again",
    "inputs.pieces",
    /takes number, and this is string/
  ]
]

for (const [title, nodes, node, field, says] of refusals) {
  it.live(`ends the start: ${title}`, () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(started(graphOf(nodes)))
      assert.instanceOf(error, GraphRefused)
      assert.deepInclude(error, { graph: "restock", node, field })
      assert.match(error.message, says)
      assert.include(error.message, `graph "restock", node "${node}", field "${field}": `)
    })
  )
}

it.live("SG-52 SG-53 a graph whose types may fit starts and runs", () =>
  Effect.gen(function* () {
    const graph = graphOf(
      [
        count(),
        order({ pieces: "{{state.found.missing}}", to: { street: "{{state.any}}" } }),
        order({ pieces: "{{state.pieces}}" }, { id: "more", out: "more" }),
        { id: "open", kind: "tool", tool: "open", inputs: { x: "{{state.any}}" }, static: { y: 1 } }
      ],
      { output: "{{state.order.number}} {{state.more.number}}" }
    )
    const service = yield* started(graph)
    const ended = yield* Effect.promise(() =>
      service.ask({ agent: "restock", text: `{"article":"tea","pieces":3,"any":"A 1"}` })
    )
    assert.deepInclude(ended, { status: "complete", text: "n-12 n-3" })
    assert.notProperty(ended, "detail")
  }).pipe(Effect.scoped)
)

it.live("SG-52 ask rejects with the node of a graph that failed, and the reason", () =>
  Effect.gen(function* () {
    const service = yield* started(graphOf([count()]))
    const ended = yield* Effect.promise(() =>
      service.ask({ agent: "restock", text: `{"article":"gone"}` })
    )
    assert.deepInclude(ended, { status: "failed", reason: "graph_stopped" })
    assert.match(ended.detail ?? "", /graph "restock": node "c" failed: .*no such article/)
  }).pipe(Effect.scoped)
)

const put = (id: string, n: number | string) => ({
  id,
  kind: "tool",
  tool: "put",
  inputs: { n },
  out: id
})
for (const [title, nodes, input, output, answer] of [
  [
    "two nodes that write the same at the same time both do",
    [put("a", "{{state.n}}"), put("b", "{{state.m}}")],
    { n: 1, m: 1 },
    "{{state.a}} {{state.b}}",
    "1 1"
  ],
  [
    "as many nodes may write as a graph has",
    Array.from({ length: 200 }, (_, i) => put(`n${i}`, i)),
    {},
    "{{state.n199}}",
    "199"
  ],
  ["a blank output is an answer, as JSON", [put("a", 1)], { n: "" }, "{{state.n}}", '""']
] as const) {
  it.live(`of a graph ${title}`, () =>
    Effect.gen(function* () {
      const graph = JSON.stringify({ name: "restock", nodes, output })
      const service = yield* started(graph)
      const ended = yield* Effect.promise(() =>
        service.ask({ agent: "restock", text: JSON.stringify(input) })
      )
      assert.deepInclude(ended, { status: "complete", text: answer })
    }).pipe(Effect.scoped)
  )
}

it.live("a graph costs nothing, and goes on with what is handed over to it", () =>
  Effect.gen(function* () {
    const lead = AgentSpec.make({
      name: "lead",
      instructions: "Test.",
      tools: ["count"],
      specialists: ["restock"],
      handoffs: ["restock"],
      limits: RunLimits.make({ cost_max: "1" })
    })
    const turns = [
      call("ask_restock", {}),
      text("done"),
      // It has the id of a node, and is none.
      call(
        "count",
        { article: "tea" },
        { calls: [{ model_id: "o", name: "count", arguments: { article: "tea" } }] }
      ),
      call("transfer_to_restock", {})
    ]
    const graph = graphOf([order({ pieces: 3 })], { output: "{{state.order.number}}" })
    const service = yield* started(graph, {
      agents: [lead],
      model: layer(() => ({ ...turns.shift()!, usage: { input_tokens: 1, output_tokens: 1 } })),
      prices: { version: "1", currency: "EUR", prices: [{ model: "*", input: "1", output: "1" }] }
    })
    const ask = () =>
      Effect.promise(() => service.ask({ agent: "lead", text: `{"article":"tea"}` }))
    assert.deepInclude(yield* ask(), { status: "complete", text: "done" })
    assert.deepInclude(yield* ask(), { status: "complete", text: "n-3" })
  }).pipe(Effect.scoped)
)
