import { assert } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import * as EphemeralRuntime from "../runtime/EphemeralRuntime.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { ModelGateway } from "../../services/ModelGateway.ts"
import { RunReader } from "../../services/RunReader.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import { routeOf } from "../../src/replay/Cassette.ts"
import type { JournalEntry, Outcome } from "../../src/run/RunEvent.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { ReplayPolicy, SideEffects } from "../../src/tool/SideEffects.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

interface Case {
  readonly isReplay: boolean
  readonly side_effects: SideEffects
  readonly replay_policy: ReplayPolicy
  /** Was a result recorded for the call? Null = the recording has no call at all. */
  readonly hit: boolean | null
  readonly granted: boolean
  readonly argsValid: boolean
  readonly payloadValid: boolean
}

const agent = AgentName.make("replayed")
const recorded_args = { n: 1 }
const other_args = { n: 2 }

/** An app with the case's tool; `bodies` counts the runs of its body. */
const appOf = (
  each: Case,
  bodies: { count: number },
  now: {
    readonly granted: boolean
    readonly argsValid: boolean
    readonly success: Schema.Codec<unknown>
  }
) => ({
  agents: [
    AgentSpec.make({
      name: agent,
      instructions: "Follow the script.",
      tools: ["vec.routed@1"],
      capabilities: now.granted ? ["route"] : []
    })
  ],
  tools: [
    tool(
      {
        namespace: "vec",
        name: "routed",
        side_effects: each.side_effects,
        replay_policy: each.replay_policy,
        permission: "allow",
        capabilities: "route",
        input: Schema.Struct({ n: now.argsValid ? Schema.Int : Schema.String }),
        output: now.success
      },
      () =>
        Effect.sync(() => {
          bodies.count++
          return "result"
        })
    ) as never
  ]
})

const whole = { granted: true, argsValid: true, success: Schema.String }

const model = (args: Readonly<Record<string, Schema.Json>>): ModelGateway["Service"] => ({
  turn: ({ step }) => Exit.succeed(step === 1 ? call("routed", args) : text("done"))
})

const outcomeOf = (entries: ReadonlyArray<JournalEntry>): Outcome | undefined =>
  entries.flatMap(({ event }) => (event._tag === "CallSettled" ? [event.outcome] : []))[0]

const reasons: Readonly<Record<string, string>> = {
  CAPABILITY_DENIED: "CapabilityError",
  INPUT_SCHEMA: "InputSchemaError",
  OUTPUT_SCHEMA: "OutputSchemaError",
  REPLAY_NO_RECORDING: "ReplayError",
  REPLAY_FAIL_LOUD: "ReplayError"
}

/** Plays the run that is replayed. */
const recording = Effect.fnUntraced(function* () {
  const runtime = yield* AgentRuntime
  const { task } = yield* runtime.send(
    { agent, conversation: ConversationId.make("vectors"), text: "Begin." },
    Stage.operator
  )
  yield* Stage.after(10)
  return task.id
})

/** The outcome of the case's call, live or replayed. */
const observed = Effect.fnUntraced(function* (each: Case) {
  const live = { count: 0 }
  const script = each.hit === null ? [text("done")] : [call("routed", recorded_args), text("done")]
  const stage = EphemeralRuntime.layer(appOf(each, live, whole)).pipe(
    Layer.provideMerge(ScriptedModelGateway.layer(script))
  )
  return yield* Effect.provide(
    Effect.gen(function* () {
      const run = yield* recording()
      const entries = yield* RunReader.use((reader) => reader.read(run, 0, 1_000))
      if (!each.isReplay) {
        const outcome = outcomeOf(entries)
        const recorded = outcome?._tag === "Value"
        return { outcome: "execute", bodyCalls: live.count, replayed: false, recorded }
      }
      const bodies = { count: 0 }
      const success = each.payloadValid ? Schema.String : Schema.Int
      const { argsValid, granted, hit } = each
      const app = appOf(each, bodies, { argsValid, granted, success: success as never })
      const args = hit === true ? recorded_args : other_args
      const report = yield* Replay.replay(run, { app, model: model(args) })
      assert.isObject(report.gate)
      if (typeof report.gate === "string") return undefined
      const { calls, entries: replayed } = report.gate
      const outcome = outcomeOf(replayed)
      const reason = outcome?._tag === "Failed" ? outcome.error.reason : undefined
      const how = calls[0]?.how
      return {
        outcome:
          reason === undefined
            ? how === "run"
              ? "execute"
              : "cassette"
            : (reasons[reason] ?? reason),
        bodyCalls: bodies.count,
        replayed: how === "replayed"
      }
    }),
    stage
  )
})

const rowsOf = ({ hit, isReplay, replay_policy }: Case): string =>
  !isReplay
    ? "SG-20"
    : replay_policy === "fail-loud"
      ? "SG-17"
      : replay_policy === "must-stub"
        ? hit === true
          ? "SG-15 SG-21 SG-22"
          : "SG-16"
        : hit === true
          ? "SG-18 SG-21"
          : "SG-19"

const isPolicy = Schema.is(ReplayPolicy)
const isEffects = Schema.is(SideEffects)

conformance("replay_routing", ({ expect, input }): Driven => {
  if (
    !hasShape(
      input,
      ["isReplay", "side_effects", "replay_policy"],
      ["cassetteHit", "cassette", "capabilityGranted", "argsValid", "cassettePayloadValid"]
    ) ||
    !isRecord(expect)
  ) {
    return undefined
  }
  const { replay_policy, side_effects } = input
  if (!isPolicy(replay_policy) || !isEffects(side_effects)) return undefined
  const each: Case = {
    isReplay: input.isReplay === true,
    side_effects,
    replay_policy,
    hit: input.cassette === null ? null : input.cassetteHit !== false,
    granted: input.capabilityGranted !== false,
    argsValid: input.argsValid !== false,
    payloadValid: input.cassettePayloadValid !== false
  }
  return {
    rows: rowsOf(each),
    run: Effect.gen(function* () {
      const got = yield* observed(each)
      assert.deepInclude(got, expect as object)
      if (!each.isReplay) return
      const route = routeOf({ replay_policy, side_effects, recorded: each.hit === true })
      if (expect.outcome === "ReplayError") assert.strictEqual(route, "fail")
      if (expect.outcome === "execute") assert.strictEqual(route, "run")
      if (expect.outcome === "cassette") assert.include(["stub", "recorded"], route)
    })
  }
})
