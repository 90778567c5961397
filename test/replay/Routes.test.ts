/** What a replay does with each kind of tool, policy and recording, through the whole gate: whose bodies run. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import type { ModelGateway } from "../../services/ModelGateway.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ReplayPolicy, SideEffects } from "../../src/tool/SideEffects.ts"
import * as H from "../runtime/Harness.ts"

/** As the table says: `recorded` gives the result, `run` runs the body, the rest is a refusal. */
const expected = (policy: ReplayPolicy, effects: SideEffects, hit: boolean): string => {
  if (policy === "fail-loud") return "fail_loud"
  if (hit) return "replayed"
  const harmless = effects === "none" || effects === "read"
  return policy === "recorded-result" && harmless ? "run" : "no_recording"
}

const rowOf = (policy: ReplayPolicy, hit: boolean): string => {
  if (policy === "fail-loud") return "SG-17"
  if (policy === "must-stub") return hit ? "SG-15" : "SG-16"
  return hit ? "SG-18" : "SG-19"
}

describe("a replay", () => {
  for (const replay_policy of ReplayPolicy.literals) {
    for (const side_effects of SideEffects.literals) {
      for (const hit of [true, false]) {
        const how = expected(replay_policy, side_effects, hit)
        const title = `${rowOf(replay_policy, hit)} of ${side_effects} under ${replay_policy}`
        it.live(`${title}, ${hit ? "recorded" : "not recorded"}: ${how}`, () => {
          let bodies = 0
          const options: H.Options = {
            tools: {
              work: {
                governance: { side_effects, replay_policy, permission: "allow" },
                body: (n) => Effect.sync(() => ({ n, body: ++bodies }))
              }
            },
            script: [call("work", { n: 1 }), text("done")]
          }
          const other: ModelGateway["Service"] = {
            turn: ({ step }) =>
              Exit.succeed(step === 1 ? call("work", { n: hit ? 1 : 2 }) : text("done"))
          }
          return Effect.gen(function* () {
            const run = yield* H.send("go")
            const recorded = H.outcome(yield* H.ended(run))
            assert.deepStrictEqual(recorded, { _tag: "Value", json: '{"n":1,"body":1}' })
            const app = { agents: H.agentsOf(options), tools: [H.toolsOf(options.tools ?? {})] }
            const { gate } = yield* Replay.replay(run, { app, model: other })
            assert.isObject(gate)
            if (typeof gate === "string") return
            assert.deepStrictEqual(
              gate.calls.map((each) => each.how),
              [how]
            )
            assert.strictEqual(bodies, how === "run" ? 2 : 1)
            const outcome = H.outcome(gate.entries.map(({ event }) => event))
            if (how === "replayed") assert.deepStrictEqual(outcome, recorded)
            else if (how === "run") {
              assert.deepStrictEqual(outcome, { _tag: "Value", json: '{"n":2,"body":2}' })
            } else {
              assert.deepNestedInclude(outcome, {
                "error.class": how === "fail_loud" ? "ToolPolicyError" : "ToolTerminalError",
                "error.reason": `REPLAY_${how.toUpperCase()}`
              })
            }
          }).pipe(Effect.provide(H.layer(options)))
        })
      }
    }
  }

  it.live("of a result that is no JSON gives it as it was recorded, and the run goes on", () => {
    const options: H.Options = {
      tools: { work: H.reads((n) => Effect.succeed(n)) },
      script: [call("work", { n: 1 }), text("done")]
    }
    return Effect.gen(function* () {
      const run = yield* H.send("go")
      yield* H.ended(run)
      const reader = yield* RunReader
      const cut = '{"paid":tr'
      const spoilt = (entry: JournalEntry): JournalEntry =>
        entry.event._tag === "CallSettled"
          ? { ...entry, event: { ...entry.event, outcome: { _tag: "Value", json: cut } } }
          : entry
      const read: typeof reader.read = (...asked) =>
        Effect.map(reader.read(...asked), (entries) => entries.map(spoilt))
      const app = { agents: H.agentsOf(options), tools: [H.toolsOf(options.tools ?? {})] }
      const { gate } = yield* Replay.replay(run, { app }).pipe(
        Effect.provideService(RunReader, { ...reader, read })
      )
      assert.isObject(gate)
      if (typeof gate === "string") return
      const events = gate.entries.map(({ event }) => event)
      assert.deepStrictEqual(H.outcome(events), { _tag: "Value", json: cut })
      assert.deepInclude(H.end(events), { status: "complete" })
    }).pipe(Effect.provide(H.layer(options)))
  })
})
