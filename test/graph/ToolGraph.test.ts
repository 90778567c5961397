import { assert, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as GraphText from "../../layers/builtin/GraphText.ts"
import { loadGraph } from "../../src/graph/ToolGraph.ts"
import { fillTemplates } from "../../src/graph/StateTemplate.ts"

const node = (id: string, more: object = {}) => ({
  id,
  kind: "tool",
  tool: "test.echo@1",
  out: id,
  ...more
})
const input = { type: "object", properties: { order: { type: "string" } }, required: ["order"] }

const waves = (value: unknown) =>
  Effect.map(loadGraph(value), (graph) => graph.waves.map((wave) => wave.map(({ id }) => id)))

it.effect("SG-52 a node runs as soon as those whose results it reads have ended", () =>
  Effect.gen(function* () {
    const nodes = [
      node("last", { inputs: { a: "{{state.one}}", b: ["{{state.two.x}} and more"] } }),
      node("one", { inputs: { a: "{{state.order}}" } }),
      node("two", { static: { a: "{{state.last}}" } }),
      node("alone", { after: ["last"] })
    ]
    assert.deepStrictEqual(yield* waves({ name: "g", input, nodes }), [
      ["one", "two"],
      ["last"],
      ["alone"]
    ])
  })
)

const refusals: ReadonlyArray<
  readonly [title: string, graph: object, node: string | undefined, field: string, says: RegExp]
> = [
  [
    "SG-54 an argument in inputs and in static",
    { nodes: [node("a", { inputs: { x: "{{state.order}}", y: 1 }, static: { y: 2 } })] },
    "a",
    "static.y",
    /"y" stands in inputs and in static/
  ],
  [
    "an unknown key of a node",
    { nodes: [node("a", { input: {} })] },
    "a",
    "input",
    /no such member\. Did you mean "inputs"/
  ],
  [
    "an unknown key of the graph",
    { nodes: [node("a")], edges: [] },
    undefined,
    "edges",
    /no such member/
  ],
  ["another kind of node", { nodes: [node("a", { kind: "llm" })] }, "a", "kind", /kind: tool/],
  ["a node without a tool", { nodes: [{ id: "a", kind: "tool" }] }, "a", "tool", /it is missing/],
  ["no nodes", { nodes: [] }, undefined, "nodes", /at least 1/],
  [
    "SG-53 a field that the state never has",
    { input, nodes: [node("a", { inputs: { x: "{{state.ordr}}" } })] },
    "a",
    "inputs.x",
    /no field "ordr".*Did you mean "order"/
  ],
  [
    "an output that the state never has",
    { input, nodes: [node("a")], output: { x: "{{state.b}}" } },
    undefined,
    "output",
    /no field "b"/
  ],
  [
    "braces that are no template",
    { nodes: [node("a", { inputs: { x: "{{order}}" } })] },
    "a",
    "inputs.x",
    /Write \{\{state\.field\}\}/
  ],
  ["an unknown node", { nodes: [node("a", { after: ["b"] })] }, "a", "after", /no node.*"b"/],
  ["two nodes of one id", { nodes: [node("a"), node("a", { out: "b" })] }, "a", "id", /two nodes/],
  [
    "two writers of a field",
    { nodes: [node("a"), node("b", { out: "a" })] },
    "b",
    "out",
    /node "a"/
  ],
  [
    "a node that writes over the input",
    { input, nodes: [node("a", { out: "order" })] },
    "a",
    "out",
    /field of the input/
  ],
  [
    "a cycle",
    {
      nodes: [
        node("a", { inputs: { x: "{{state.c}}" } }),
        node("b", { after: ["a"] }),
        node("c", { inputs: { x: "{{state.b}}" } })
      ]
    },
    "a",
    "after",
    /a -> c -> b -> a/
  ],
  [
    "a node that reads its own result",
    { nodes: [node("a", { inputs: { x: "{{state.a}}" } })] },
    "a",
    "after",
    /a -> a/
  ]
]

for (const [title, graph, where, field, says] of refusals) {
  it.effect(`refuses at load: ${title}`, () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(loadGraph({ name: "refunds", ...graph }))
      assert.deepInclude(error, { _tag: "GraphRefused", graph: "refunds", field })
      assert.strictEqual(error.node, where)
      assert.match(error.message, says)
    })
  )
}

it("SG-53 fills templates with values of any kind, and names the path that is missing", () => {
  const state = new Map<string, never>(
    Object.entries({ n: 3, list: [{ x: "ü" }], text: "{{state.n}}", nothing: null }) as never
  )
  const filled = (value: never) => Result.getOrThrow(fillTemplates(value, state))
  assert.deepStrictEqual(
    filled({
      whole: "{{ state.list }}",
      deep: ["{{state.list.0.x}}"],
      within: "n={{state.n}}, list={{state.list}}, {{state.nothing}}",
      once: "{{state.text}}"
    } as never),
    {
      whole: [{ x: "ü" }],
      deep: ["ü"],
      within: 'n=3, list=[{"x":"ü"}], null',
      once: "{{state.n}}"
    }
  )
  for (const [text, path] of [
    ["{{state.list.1.x}}", "list.1"],
    ["{{state.n.x}}", "n.x"],
    ["a {{state.constructor}}", "constructor"],
    ["{{state.list.length}}", "list.length"]
  ] as const) {
    const found = fillTemplates(text, state)
    assert.strictEqual(Result.isFailure(found) ? found.failure : "(found)", path)
  }
})

it.effect("reads YAML and JSON alike, and refuses expanding aliases and other texts", () =>
  Effect.gen(function* () {
    const yaml = `
name: refunds
input: { type: object, properties: { order: { type: string } }, required: [order] }
nodes:
  - id: find
    kind: tool
    tool: shop.find@1
    inputs: { id: "{{state.order}}" }   # of the state
    static: { deep: [1, true, null] }
`
    const { spec } = yield* GraphText.read(yaml)
    assert.deepStrictEqual(spec, (yield* GraphText.read(JSON.stringify(spec))).spec)
    assert.deepInclude(spec.nodes[0], { static: { deep: [1, true, null] } })
    for (const text of ["a: [", "a: &x [1]\nb: *x", "x".repeat(1_000_001), "a: 1\na: 2"]) {
      assert.strictEqual((yield* Effect.flip(GraphText.read(text)))._tag, "GraphRefused")
    }
  })
)
