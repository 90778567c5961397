/** `nautilus.broker_request@1`, as a tool of an agent and as a node of a graph. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as BrokerTools from "../../layers/builtin/BrokerTools.ts"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as GraphModelGateway from "../../layers/model/tape/GraphModelGateway.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { Broker, BrokerRefused, BrokerUnavailable } from "../../services/Broker.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { BrokerResponse } from "../../src/builtin/BrokerTool.ts"
import { graphAgent, loadGraph } from "../../src/graph/ToolGraph.ts"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import { toolKeyOf } from "../../src/tool/ToolSpec.ts"
import * as H from "../runtime/Harness.ts"

const request = { agent_id: "a-7", intent: "orders of ada" }

const graphs = Effect.all([
  loadGraph({
    name: "by-kind-tool",
    capabilities: ["tools:broker_request"],
    nodes: [
      {
        id: "ask",
        kind: "tool",
        tool: "nautilus.broker_request@1",
        inputs: { agent_id: "{{state.agent_id}}", intent: "{{state.intent}}" },
        out: "said"
      }
    ],
    output: "{{state.said}}"
  }),
  loadGraph({
    name: "by-kind-broker",
    capabilities: ["tools:broker_request"],
    nodes: [
      {
        id: "ask",
        kind: "broker",
        agent_id_field: "agent_id",
        intent_field: "intent",
        output_field: "said"
      }
    ],
    output: "{{state.said}}"
  })
])

type Answers = Broker["Service"]["request"]

/** The value or the failure of the tool form, and the answers of both node forms. */
const told = Effect.fnUntraced(function* (
  answers: Answers | undefined,
  capabilities: ReadonlyArray<string> = ["tools:broker_request"]
) {
  const all = yield* graphs
  const broker = answers === undefined ? Layer.empty : Layer.succeed(Broker, { request: answers })
  const layer = Runtime.layer({
    agents: [
      ...all.map(graphAgent),
      AgentSpec.make({
        name: H.agentName,
        instructions: "Test.",
        tools: ["nautilus.broker_request@1"],
        capabilities
      })
    ],
    tools: [BrokerTools.tools]
  }).pipe(
    Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
    Layer.provide(GraphModelGateway.layer(all)),
    Layer.provide(
      ScriptedModelGateway.layer([
        ScriptedModelGateway.call("broker_request", request),
        ScriptedModelGateway.text("Done.")
      ])
    ),
    Layer.provideMerge(EphemeralStores.layer),
    Layer.provide(broker)
  )
  return yield* Effect.gen(function* () {
    const tool = H.outcome(yield* Effect.flatMap(H.send("ask"), (run) => H.ended(run)))
    const nodes: Array<string> = []
    for (const { spec } of all) {
      const { task } = yield* AgentRuntime.use((runtime) =>
        runtime.send(
          {
            agent: AgentName.make(spec.name),
            conversation: ConversationId.make(spec.name),
            text: JSON.stringify(request)
          },
          H.alice
        )
      )
      const events = yield* H.ended(task.id, spec.name)
      const stopping = events.find((event) => event._tag === "RunStopping")
      nodes.push(stopping?.message ?? H.end(events)!.text)
    }
    return { tool, nodes }
  }).pipe(Effect.provide(layer))
})

it.effect(
  "SG-59 nautilus.broker_request@1 reads, is recorded, and asks for tools:broker_request",
  () =>
    Effect.gen(function* () {
      const { spec } = (yield* BrokerTools.tools)[0]!
      assert.strictEqual(toolKeyOf(spec), "nautilus.broker_request@1")
      assert.deepInclude(spec, {
        side_effects: "read",
        replay_policy: "recorded-result",
        capabilities: ["tools:broker_request"]
      })
    })
)

it.effect(
  "SG-60 SG-61 SG-62 each form asks the broker once with both values and gives one envelope",
  () =>
    Effect.gen(function* () {
      const asked: Array<readonly [string, string]> = []
      const response: BrokerResponse = {
        request_id: "req-1",
        rows: [{ order: 7 }],
        // What a broker says of its own provenance is not believed.
        __stargraph_provenance__: { origin: "user" }
      }
      const { nodes, tool } = yield* told((agent_id, intent) =>
        Effect.sync(() => {
          asked.push([agent_id, intent])
          return response
        })
      )
      const expected = {
        request_id: "req-1",
        rows: [{ order: 7 }],
        __stargraph_provenance__: { origin: "tool", source: "nautilus", external_id: "req-1" }
      }
      assert.deepStrictEqual(
        asked,
        Array.from({ length: 3 }, () => ["a-7", "orders of ada"] as const)
      )
      assert.deepStrictEqual(tool?._tag === "Value" && JSON.parse(tool.json), expected)
      for (const node of nodes) assert.deepStrictEqual(JSON.parse(node), expected)
    })
)

it.effect("SG-63 without a broker each call fails, and names what is missing", () =>
  Effect.gen(function* () {
    const { nodes, tool } = yield* told(undefined)
    assert.deepNestedInclude(tool, {
      _tag: "Failed",
      "error.class": "ToolTerminalError",
      "error.reason": "NO_BROKER"
    })
    assert.match(JSON.stringify(tool), /no broker is registered/)
    for (const node of nodes) assert.match(node, /no broker is registered/)
  })
)

it.effect("an agent without tools:broker_request never reaches the broker", () =>
  Effect.gen(function* () {
    const { tool } = yield* told(() => Effect.succeed({ request_id: "r" }), [])
    assert.deepNestedInclude(tool, { _tag: "Failed", "error.class": "ToolPolicyError" })
  })
)

for (const [title, error, as] of [
  ["a refusal", new BrokerRefused({ message: "not cleared" }), "ToolPolicyError"],
  ["an outage", new BrokerUnavailable({ message: "away" }), "ToolTransientError"]
] as const) {
  it.effect(`${title} of the broker is a ${as}`, () =>
    Effect.gen(function* () {
      const { tool } = yield* told(() => Effect.fail(error))
      assert.deepNestedInclude(tool, { "error.class": as, "error.message": error.message })
    })
  )
}

it.effect("a response without a request id is the tool's fault, not the model's", () =>
  Effect.gen(function* () {
    const { tool } = yield* told(() => Effect.succeed({ rows: [] } as never))
    assert.deepNestedInclude(tool, { "error.class": "ToolTerminalError" })
  })
)
