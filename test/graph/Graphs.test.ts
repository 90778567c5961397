/** Graphs through the gate and the journal: as runs of their own, and as what an agent delegates to. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema } from "effect"
import * as GraphText from "../../layers/builtin/GraphText.ts"
import * as GraphModelGateway from "../../layers/model/tape/GraphModelGateway.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import type { ToolGraph } from "../../src/graph/ToolGraph.ts"
import { graphAgent } from "../../src/graph/ToolGraph.ts"
import { nextTurn } from "../../src/graph/GraphTurn.ts"
import { AgentName, callId, ConversationId, rootFrame } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as Http from "../http/Service.ts"
import * as H from "../runtime/Harness.ts"

const yaml = `
name: refund
description: Refunds an order.
input:
  type: object
  properties: { order: { type: string } }
  required: [order]
  additionalProperties: false
nodes:
  - { id: pay, kind: tool, tool: shop.pay@1, inputs: { to: "{{state.found.customer}}", amount: "{{state.found.total}}" }, static: { note: "{{as is}}" }, out: paid }
  - { id: find, kind: tool, tool: shop.find@1, inputs: { order: "{{state.order}}" }, out: found }
  - { id: policy, kind: tool, tool: shop.policy@1, out: rules }
output: { receipt: "{{state.paid.receipt}}", rules: "{{state.rules}}", text: "Paid {{state.found.total}} for {{state.order}}" }
`

interface Seen {
  readonly paid: Array<unknown>
}

const shop = (seen: Seen) => [
  tool(
    {
      namespace: "shop",
      name: "find",
      side_effects: "read",
      input: Schema.Struct({ order: Schema.String })
    },
    ({ order }) =>
      order === "none"
        ? Effect.fail(new ToolUserError({ kind: "not_found", message: "no such order" }))
        : // Longer than what a model is shown of a result.
          Effect.succeed({
            customer: "<ada>",
            total: 12.5,
            notes:
              order === "many"
                ? Array.from({ length: 25_000 }, (_, index) => index)
                : "x".repeat(order === "long" ? 50_000 : 1)
          })
  ),
  tool({ namespace: "shop", name: "policy", side_effects: "none" }, () => ["no fees"]),
  tool(
    {
      namespace: "shop",
      name: "pay",
      side_effects: "write",
      approvers: ["approver"],
      input: Schema.Struct({ to: Schema.String, amount: Schema.Finite, note: Schema.String })
    },
    (args, call) => {
      seen.paid.push({ ...args, key: call.key !== undefined, by: call.approved_by })
      return { receipt: `r-${args.to}` }
    }
  )
]

const layer = (graph: ToolGraph, seen: Seen, script: ScriptedModelGateway.Script = []) =>
  Runtime.layer({
    agents: [
      graphAgent(graph),
      AgentSpec.make({ name: H.agentName, instructions: "Test.", specialists: [graph.spec.name] })
    ],
    tools: shop(seen)
  }).pipe(
    Layer.provideMerge(ActorMemories.layer(GatewayAgentMemory.layer)),
    Layer.provide(GraphModelGateway.layer([graph])),
    Layer.provideMerge(ScriptedModelGateway.layer(script)),
    Layer.provideMerge(EphemeralStores.layer)
  )

const send = (text: string) =>
  Effect.map(
    AgentRuntime.use((runtime) =>
      runtime.send(
        { agent: AgentName.make("refund"), conversation: ConversationId.make("c-1"), text },
        H.alice
      )
    ),
    ({ task }) => task.id
  )

const receipt = {
  receipt: "r-<ada>",
  rules: ["no fees"],
  text: "Paid 12.5 for 7"
}

it.effect(
  "SG-52 a graph is a run: each node a call of the journal, its writes approved, its output the answer",
  () =>
    Effect.gen(function* () {
      const graph = yield* GraphText.read(yaml)
      const seen: Seen = { paid: [] }
      yield* Effect.gen(function* () {
        const run = yield* send(`{"order":"7"}`)
        const question = yield* H.question(run)
        assert.deepStrictEqual(seen.paid, [])
        assert.deepStrictEqual(question.arguments, { note: "{{as is}}", to: "<ada>", amount: 12.5 })
        yield* H.decide(question.approval, H.approve)
        const events = yield* H.ended(run)
        assert.deepInclude(H.end(events), { status: "complete" })
        assert.deepStrictEqual(JSON.parse(H.end(events)!.text), receipt)
        assert.deepStrictEqual(
          events.flatMap((event) =>
            event._tag === "ModelTurned"
              ? [event.calls.map(({ model_id, name }) => [model_id, name])]
              : []
          ),
          [
            [
              ["find", "find"],
              ["policy", "policy"]
            ],
            [["pay", "pay"]],
            []
          ]
        )
        assert.strictEqual(H.count(events, "CallDispatched"), 1)
        assert.deepStrictEqual(seen.paid, [
          { to: "<ada>", amount: 12.5, note: "{{as is}}", key: true, by: "alice" }
        ])
      }).pipe(Effect.provide(layer(graph, seen)))
    })
)

it.effect(
  "a run of a graph is replayed with the graphs of its application, as text or loaded",
  () =>
    Effect.gen(function* () {
      const graph = yield* GraphText.read(yaml)
      yield* Effect.gen(function* () {
        const run = yield* send(`{"order":"7"}`)
        yield* H.decide((yield* H.question(run)).approval, H.approve)
        yield* H.ended(run)
        for (const given of [yaml, graph]) {
          const app = { agents: [], graphs: [given], tools: shop({ paid: [] }) }
          const { changed, gate } = yield* Replay.replay(run, { app })
          assert.deepStrictEqual(changed, { definition: false, tools: false })
          assert.isObject(gate, String(gate))
          assert.isUndefined((gate as { readonly divergence?: unknown }).divergence)
        }
      }).pipe(Effect.provide(layer(graph, { paid: [] })))
    })
)

it.effect(
  "a node reads the whole result of another, and not what a model would be shown of it",
  () =>
    Effect.gen(function* () {
      const graph = yield* GraphText.read(`
name: refund
nodes:
  - { id: find, kind: tool, tool: find, inputs: { order: long } }
output: "{{state.tool_result.notes}}"
`)
      yield* Effect.gen(function* () {
        const events = yield* Effect.flatMap(send("{}"), (run) => H.ended(run))
        assert.strictEqual(H.end(events)?.text, "x".repeat(50_000))
      }).pipe(Effect.provide(layer(graph, { paid: [] })))
    })
)

it.effect("a node reads a result with more values than an input may have", () =>
  Effect.gen(function* () {
    const graph = yield* GraphText.read(`
name: refund
nodes:
  - { id: find, kind: tool, tool: find, inputs: { order: many } }
output: "{{state.tool_result.notes}}"
`)
    yield* Effect.gen(function* () {
      const events = yield* Effect.flatMap(send("{}"), (run) => H.ended(run))
      assert.lengthOf(JSON.parse(H.end(events)!.text), 25_000)
    }).pipe(Effect.provide(layer(graph, { paid: [] })))
  })
)

for (const [json, says] of [
  ["{", "it is not JSON"],
  ['{"a":1,"a":2}', "an object has a member twice"],
  ["[".repeat(129) + "]".repeat(129), "it nests deeper than 128"]
] as const) {
  it.effect(`a journal whose result is ${json.slice(0, 16)} ends the graph with a sentence`, () =>
    Effect.gen(function* () {
      const graph = yield* GraphText.read(`
name: refund
nodes:
  - { id: policy, kind: tool, tool: policy, out: rules }
`)
      const call = { model_id: "policy", name: "policy", arguments: {} }
      const next = nextTurn(graph, "graph/now", rootFrame, [
        { _tag: "RunAccepted", message: "{}" },
        {
          _tag: "ModelTurned",
          frame: rootFrame,
          step: 1,
          text: "",
          finish: "tool_calls",
          calls: [call]
        },
        { _tag: "CallSettled", call: callId(rootFrame, 1, 0), outcome: { _tag: "Value", json } }
      ] as unknown as ReadonlyArray<RunEvent>)
      assert.deepStrictEqual(
        next,
        Result.fail(`node "policy" has a result that cannot be read: ${says}`)
      )
    })
  )
}

it.effect("SG-52 a node that fails ends the graph, and the run says which one and why", () =>
  Effect.gen(function* () {
    const graph = yield* GraphText.read(yaml)
    yield* Effect.gen(function* () {
      const run = yield* send(`{"order":"none"}`)
      const events = yield* H.ended(run)
      assert.deepInclude(H.end(events), { status: "failed", reason: "graph_stopped" })
      const stopping = events.find((event) => event._tag === "RunStopping")
      assert.match(
        stopping?.message ?? "",
        /graph "refund": node "find" failed: ToolUserError \(not_found\): no such order/
      )
      // Its sibling is unharmed, and nothing of what reads it began.
      assert.deepStrictEqual(
        H.settled(events).map(({ outcome }) => outcome._tag),
        ["Failed", "Value"]
      )
    }).pipe(Effect.provide(layer(graph, { paid: [] })))
  })
)

for (const [text, says] of [
  ["refund it", /not JSON/],
  [`["7"]`, /JSON object/],
  ["{}", /its input is refused.*order/s],
  [`{"order":"7","extra":1}`, /its input is refused/]
] as const) {
  it.effect(`SG-53 a run that begins with ${text} fails before any node`, () =>
    Effect.gen(function* () {
      const graph = yield* GraphText.read(yaml)
      yield* Effect.gen(function* () {
        const events = yield* Effect.flatMap(send(text), (run) => H.ended(run))
        assert.strictEqual(H.end(events)?.status, "failed")
        assert.match(events.find((event) => event._tag === "RunStopping")?.message ?? "", says)
        assert.strictEqual(H.settled(events).length, 0)
      }).pipe(Effect.provide(layer(graph, { paid: [] })))
    })
  )
}

it.effect("SG-53 a field that a result lacks fails the node that reads it, by name", () =>
  Effect.gen(function* () {
    const graph = yield* GraphText.read(`
name: refund
nodes:
  - { id: find, kind: tool, tool: shop.find@1, inputs: { order: "7" }, out: found }
  - { id: next, kind: tool, tool: shop.find@1, inputs: { order: "{{state.found.parent}}" }, out: parent }
`)
    yield* Effect.gen(function* () {
      const events = yield* Effect.flatMap(send("{}"), (run) => H.ended(run))
      assert.match(
        events.find((event) => event._tag === "RunStopping")?.message ?? "",
        /node "next", argument "order": the state has no field "found.parent"/
      )
    }).pipe(Effect.provide(layer(graph, { paid: [] })))
  })
)

it.live("SG-52 over HTTP a run of a graph says which node failed, and why", () =>
  Effect.gen(function* () {
    const graph = yield* GraphText.read(yaml)
    yield* Effect.gen(function* () {
      const run = yield* Http.ask("/v1/messages", {
        as: "olga",
        json: { agent: "refund", text: `{"order":"none"}` }
      })
      const events = yield* Http.listen(`/v1/conversations/${run.json.conversation_id}/events`, {
        as: "vera"
      })
      yield* Effect.repeat(events.next, { until: ({ event }) => event === "run_ended" })
      const { json } = yield* Http.ask(`/v1/runs/${run.json.run_id}`, { as: "vera" })
      assert.deepInclude(json, { status: "failed", reason: "graph_stopped" })
      assert.match(json.detail, /graph "refund": node "find" failed: .*no such order/)
    }).pipe(
      Effect.provide(
        Server.layer({ listen: { port: 0 }, credentials: Http.credentials }).pipe(
          Layer.provide(layer(graph, { paid: [] }))
        )
      )
    )
  })
)

const supervisor = AgentSpec.make({
  name: H.agentName,
  instructions: "Test.",
  specialists: ["refund"]
})
const asking: ScriptedModelGateway.Script = ({ step }) =>
  step === 1
    ? ScriptedModelGateway.call("ask_refund", { order: "7" })
    : ScriptedModelGateway.text("ok")

/** A process over stores that the test holds; it ends with the scope. */
const process = (graph: ToolGraph, seen: Seen) =>
  Runtime.layer({ agents: [graphAgent(graph), supervisor], tools: shop(seen) }).pipe(
    Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
    Layer.provide(GraphModelGateway.layer([graph])),
    Layer.provide(ScriptedModelGateway.layer(asking)),
    Layer.fresh
  )

for (const [title, change, status] of [
  ["goes on in another process, and nothing is done twice", (text: string) => text, "complete"],
  [
    "fails in a process that has another graph of its name",
    (text: string) => text.replace("Paid", "Sent"),
    "failed"
  ]
] as const) {
  it.live(`a graph that waits for a person ${title}`, () =>
    Effect.gen(function* () {
      const seen: Seen = { paid: [] }
      const before = yield* GraphText.read(yaml)
      const run = yield* Effect.gen(function* () {
        const run = yield* send(`{"order":"7"}`)
        yield* H.question(run)
        return run
      }).pipe(Effect.provide(process(before, seen)))
      const after = yield* GraphText.read(change(yaml))
      const events = yield* Effect.gen(function* () {
        const [question] = yield* H.pending
        yield* H.decide(question!.id, H.approve)
        return yield* H.ended(run)
      }).pipe(Effect.provide(process(after, seen)))
      assert.strictEqual(H.end(events)?.status, status)
      assert.strictEqual(seen.paid.length, status === "complete" ? 1 : 0)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )
}

it.live("a graph that somebody delegated to does not go on as another graph of its name", () =>
  Effect.gen(function* () {
    const seen: Seen = { paid: [] }
    const before = yield* GraphText.read(yaml)
    const run = yield* Effect.gen(function* () {
      const run = yield* H.send("refund 7")
      yield* H.question(run)
      return run
    }).pipe(Effect.provide(process(before, seen)))
    const after = yield* GraphText.read(yaml.replace("id: policy,", "id: paid, after: [pay],"))
    const events = yield* Effect.gen(function* () {
      const [question] = yield* H.pending
      yield* H.decide(question!.id, H.approve)
      return yield* H.ended(run)
    }).pipe(Effect.provide(process(after, seen)))
    assert.strictEqual(H.end(events)?.text, "ok")
    assert.match(
      JSON.stringify(H.settled(events).at(-1)),
      /another graph than the one that this began/
    )
    // What a person approved was done, and no node of the other graph.
    assert.strictEqual(seen.paid.length, 1)
    assert.strictEqual(H.settled(events).length, 4)
  }).pipe(Effect.provide(EphemeralStores.layer))
)

it.effect("an agent delegates to a graph by the graph's own schema, within its own run", () =>
  Effect.gen(function* () {
    const graph = yield* GraphText.read(yaml)
    const seen: Seen = { paid: [] }
    const ask = (model_id: string, args: object) => ({
      text: "",
      finish: "tool_calls" as const,
      calls: [{ model_id, name: "ask_refund", arguments: args as never }]
    })
    const script = [
      ask("wrong", { order: 7 }),
      ask("none", { order: "none" }),
      ask("right", { order: "7" }),
      { text: "Done.", finish: "stop" as const, calls: [] }
    ]
    yield* Effect.gen(function* () {
      const run = yield* H.send("please refund 7")
      const question = yield* H.question(run)
      yield* H.decide(question.approval, H.approve)
      const events = yield* H.ended(run)
      assert.deepInclude(H.end(events), { status: "complete", text: "Done." })
      const [first] = yield* H.requests
      assert.deepStrictEqual(first?.tools[0]?.input_schema, graph.spec.input)
      const own = H.settled(events).filter(({ call }) => /^0\/\d\.\d$/.test(call))
      assert.deepNestedInclude(own[0], {
        "outcome.error.class": "ToolUserError",
        "outcome.error.kind": "invalid_args"
      })
      assert.deepNestedInclude(own[1], { "outcome._tag": "Failed" })
      assert.match(JSON.stringify(own[1]), /node \\"find\\" failed/)
      assert.strictEqual(own[2]?.outcome._tag, "Value")
      assert.deepStrictEqual(
        JSON.parse(JSON.parse((own[2]!.outcome as { readonly json: string }).json) as string),
        receipt
      )
      assert.strictEqual(H.count(events, "FrameOpened"), 2)
      assert.strictEqual(seen.paid.length, 1)
    }).pipe(Effect.provide(layer(graph, seen, script)))
  })
)
