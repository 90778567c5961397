/** The built-in tools on a real runtime: through the gate, with a scripted model, and without either. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import * as CoordinationTools from "../../layers/semstreams/CoordinationTools.ts"
import * as ObservationTools from "../../layers/semstreams/ObservationTools.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { LoopStore } from "../../services/semstreams/LoopStore.ts"
import { RunReader } from "../../services/RunReader.ts"
import { TriplePublisher } from "../../services/semstreams/TriplePublisher.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { completionKey } from "../../src/semstreams/LoopRecord.ts"
import { loopEntity } from "../../src/semstreams/Triple.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { eventually } from "../contracts/Contract.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"
import { contextOf } from "../tool/CallContexts.ts"

const tenant = Tenant.make("acme")
const platform = { org: "acme", platform: "test" }
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })
const coordinator = AgentName.make("coordinator")

const agent = AgentSpec.make({
  name: coordinator,
  instructions: "Decide.",
  tools: ["decide", "emit_diagnosis", "list_components", "monitor_flow", "read_loop_result"]
})

const runtime = (script: Script, options: Partial<CoordinationTools.Options> = {}) => {
  const { layer, tools } = SemStreams.feature({ coordination: { ...platform, ...options } })
  return Runtime.layer({ agents: [agent], tools }).pipe(
    Layer.provide(scripted(script)),
    Layer.provideMerge(layer),
    Layer.provideMerge(Stores.ephemeral)
  )
}

const stores = Layer.provideMerge(SemStreams.layer, EphemeralStores.layer)

/** Sends a message and gives the run's events when it has ended. */
const ended = Effect.gen(function* () {
  const { task } = yield* AgentRuntime.use((agents) =>
    agents.send({ agent: coordinator, conversation: ConversationId.make("c"), text: "go" }, olga)
  )
  const entries = yield* eventually(
    RunReader.use((reader) => reader.read(task.id, 0, 1_000)),
    (found) => found.at(-1)?.event._tag === "RunEnded"
  )
  return { run: task.id, events: entries.map(({ event }) => event) }
})

const decision = { action: "fan_out", reason: "three topics", subtopics: ["a", "b"] }

const diagnosis = (finding: string) => ({
  finding,
  recommendation: "look",
  confidence: 0.5,
  evidence: ["loop-1"]
})

describe("the built-in tools", () => {
  it.live(
    "SM-62 SM-20 SM-95 decide ends a run with its arguments, and the run can be read back",
    () =>
      Effect.gen(function* () {
        const { events, run } = yield* ended
        const end = events.at(-1)
        assert.deepInclude(end, { _tag: "RunEnded", status: "complete" })
        assert.deepStrictEqual(JSON.parse(end?._tag === "RunEnded" ? end.text : ""), decision)
        assert.lengthOf(
          events.filter(({ _tag }) => _tag === "ModelTurned"),
          1
        )
        const facts = yield* TriplePublisher.use((graph) =>
          graph.about(tenant, loopEntity(platform, run), 10)
        )
        assert.deepStrictEqual(
          facts.map(({ object, predicate }) => [predicate, object]),
          [
            ["coordinator.next_action", "fan_out"],
            ["coordinator.decision_reason", "three topics"]
          ]
        )
        const record = yield* LoopStore.use((loops) => loops.get(tenant, completionKey(run)))
        assert.deepInclude(JSON.parse(record!), {
          outcome: "success",
          workflow_slug: "coordinator"
        })
        assert.deepStrictEqual(JSON.parse(JSON.parse(record!).result), decision)
      }).pipe(Effect.provide(runtime([call("decide", decision)])))
  )

  it.live("SM-71 SM-68 three diagnoses of one run are three findings, asked of nobody", () =>
    Effect.gen(function* () {
      const { events } = yield* ended
      const values = events.flatMap((event) =>
        event._tag === "CallSettled" && event.outcome._tag === "Value"
          ? [JSON.parse(event.outcome.json) as { readonly entity_id: string }]
          : []
      )
      assert.strictEqual(new Set(values.map(({ entity_id }) => entity_id)).size, 3)
      for (const { entity_id } of values) {
        assert.match(entity_id, /^acme\.test\.ops\.diagnosis\.finding\.[0-9a-f-]{36}$/)
        const facts = yield* TriplePublisher.use((graph) => graph.about(tenant, entity_id, 10))
        assert.strictEqual(facts.length, 6)
      }
      assert.isFalse(events.some(({ _tag }) => _tag === "ApprovalRequested"))
      assert.deepInclude(events.at(-1), { _tag: "RunEnded", text: "done" })
    }).pipe(
      Effect.provide(
        runtime([
          call("emit_diagnosis", diagnosis("one")),
          call("emit_diagnosis", diagnosis("two")),
          call("emit_diagnosis", diagnosis("two")),
          text("done")
        ])
      )
    )
  )

  it.live(
    "SM-67 an action that is not allowed is refused, names the valid ones and stops nothing",
    () =>
      Effect.gen(function* () {
        const { events, run } = yield* ended
        const [settled] = events.filter((event) => event._tag === "CallSettled")
        assert.strictEqual(settled?.outcome._tag, "Failed")
        if (settled?.outcome._tag === "Failed") {
          assert.deepInclude(settled.outcome.error, {
            class: "ToolUserError",
            kind: "invalid_args",
            reason: "ACTION_NOT_ALLOWED"
          })
          assert.include(settled.outcome.error.message, "retry, done")
        }
        assert.deepInclude(events.at(-1), { _tag: "RunEnded", text: "so be it" })
        const subject = loopEntity(platform, run)
        assert.deepStrictEqual(
          yield* TriplePublisher.use((graph) => graph.about(tenant, subject, 10)),
          []
        )
      }).pipe(
        Effect.provide(
          runtime([call("decide", decision), text("so be it")], { actions: ["retry", "done"] })
        )
      )
  )

  it.effect("SM-65 a finding that is sent again with its key is the same finding", () =>
    Effect.gen(function* () {
      const emit = (yield* CoordinationTools.tools(platform))[1]!
      const send = handlerEffect(
        emit.handler,
        diagnosis("one"),
        contextOf({
          run: "l" as never,
          call: "0/1.0" as never,
          tenant,
          trace_id: "t",
          principal: "olga",
          approved_by: undefined,
          key: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        })
      )
      const once = (yield* send) as { readonly entity_id: string }
      assert.deepStrictEqual(yield* send, once)
      const facts = yield* TriplePublisher.use((graph) => graph.about(tenant, once.entity_id, 10))
      assert.strictEqual(facts.length, 6)
    }).pipe(Effect.provide(stores))
  )

  it.effect("say what they do to the world, and refuse options that cannot be right", () =>
    Effect.gen(function* () {
      const tools = [
        ...(yield* CoordinationTools.tools(platform)),
        ...(yield* ObservationTools.tools)
      ]
      assert.deepStrictEqual(
        tools.map(({ key, spec }) => [key, spec.side_effects, spec.permission ?? spec.category]),
        [
          ["semstreams.decide@1", "write", "allow"],
          ["semstreams.emit_diagnosis@1", "write", "suggest"],
          ["semstreams.list_components@1", "read", "read"],
          ["semstreams.monitor_flow@1", "read", "read"],
          ["semstreams.read_loop_result@1", "read", "read"]
        ]
      )
      for (const [options, field] of [
        [{ org: "a.b", platform: "p" }, "org"],
        [{ org: "a", platform: "" }, "platform"],
        [{ ...platform, actions: [] }, "actions"]
      ] as const) {
        const error = yield* Effect.flip(CoordinationTools.tools(options))
        assert.deepInclude(error, { _tag: "MisdeclaredTool", field })
      }
    }).pipe(Effect.provide(stores))
  )
})
