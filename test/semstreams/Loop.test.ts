/** A run as a SemStreams loop, and the rules of its states. */
import { assert, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Schema } from "effect"
import { calls, call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { limitsOf, LoopState, newLoop, transition } from "../../src/semstreams/Loop.ts"
import { SemStreamsLoops } from "../../layers/semstreams/SemStreamsLoops.ts"
import * as Stage from "../conformance/Stage.ts"

const fresh = newLoop(RunLimits.make({}))
const terminal: ReadonlyArray<LoopState> = ["complete", "failed", "cancelled"]

it("SM-92 a move to the same state changes nothing, and a final state is never left", () => {
  for (const state of LoopState.literals) {
    const loop = { ...fresh, state }
    assert.strictEqual(Result.getOrThrow(transition(loop, state)), loop)
    for (const to of LoopState.literals) {
      if (to === state) continue
      const moved = transition(loop, to)
      assert.deepStrictEqual(
        moved,
        terminal.includes(state)
          ? Result.fail(`cannot transition from terminal state ${state}`)
          : Result.succeed({ ...loop, state: to })
      )
    }
  }
})

it("SM-92 refuses an unknown state", () => {
  for (const to of ["paused", "", "Complete", "constructor"]) {
    assert.deepStrictEqual(transition(fresh, to), Result.fail(`unknown loop state ${to}`))
  }
})

it("SM-93 a loop has 20 turns, or a whole number from 1 to 1,000", () => {
  const turns = (max?: number) => Result.map(limitsOf(max), ({ steps_max }) => steps_max)
  assert.deepStrictEqual(turns(), Result.succeed(20))
  for (const max of [1, 1_000]) assert.deepStrictEqual(turns(max), Result.succeed(max))
  for (const max of [0, -1, Number.NaN]) {
    assert.deepStrictEqual(turns(max), Result.fail("max_iterations must be greater than 0"))
  }
  for (const max of [1.5, 1_001, Infinity]) {
    const mistake = "max_iterations must be a whole number of at most 1000"
    assert.deepStrictEqual(turns(max), Result.fail(mistake))
  }
})

const writing = {
  governance: { side_effects: "write" },
  body: () => Effect.succeed("done")
} as const

it.effect("SM-50 SM-60 a run with two gates shows the oldest, and goes back to executing", () =>
  Stage.stage(
    {
      tools: { first: writing, second: writing },
      script: [calls([call("first"), call("second")]), text("done")]
    },
    Effect.gen(function* () {
      const run = yield* Stage.begin
      const seen = [yield* Stage.loop(run)]
      for (const { id } of yield* Stage.pending) {
        yield* ApprovalDesk.use((desk) => desk.decide(id, { _tag: "Approve" }, Stage.operator))
        yield* Stage.settle
        seen.push(yield* Stage.loop(run))
      }
      assert.deepStrictEqual(
        seen.map(({ before_approval, pending, state }) => [
          state,
          before_approval,
          pending?.tool_name
        ]),
        [
          ["awaiting_approval", "executing", "first"],
          ["awaiting_approval", "executing", "second"],
          ["complete", "", undefined]
        ]
      )
      assert.deepInclude(seen.at(-1), { result: "done", iterations: 2 })
    })
  )
)

it.effect("a loop is shown to staff of its tenant only, and answered by its tenant only", () =>
  Stage.stage(
    { tools: { first: writing }, script: [call("first"), text("done")] },
    Effect.gen(function* () {
      const run = yield* Stage.begin
      const loops = yield* SemStreamsLoops
      const foreign = new Principal({ id: "eve", tenant: Tenant.make("other"), roles: ["admin"] })
      const customer = new Principal({
        id: "carl",
        tenant: Stage.operator.tenant,
        roles: ["customer"]
      })
      assert.propertyVal(yield* Effect.flip(loops.get(run, foreign)), "_tag", "RunNotFound")
      assert.propertyVal(yield* Effect.flip(loops.get("no-run", foreign)), "_tag", "RunNotFound")
      assert.propertyVal(yield* Effect.flip(loops.get(run, customer)), "_tag", "NotEntitled")
      const { pending } = yield* Stage.loop(run)
      const answer = {
        loop_id: run,
        call_id: pending!.call_id,
        decision: "approve",
        approved_by: "eve"
      }
      yield* loops.respond(answer, foreign)
      assert.strictEqual((yield* Stage.loop(run)).state, "awaiting_approval")
    })
  )
)

it.effect("SM-57 an answer that is none, or its sender, is refused, and the gate still waits", () =>
  Stage.stage(
    { tools: { first: writing }, script: [call("first"), text("done")] },
    Effect.gen(function* () {
      const run = yield* Stage.begin
      const loops = yield* SemStreamsLoops
      const { pending } = yield* Stage.loop(run)
      const answer = {
        loop_id: run,
        call_id: pending!.call_id,
        decision: "modify",
        approved_by: "ann"
      }
      let deep: Schema.Json = {}
      for (let depth = 0; depth < 100_000; depth++) deep = { deep }
      const unreadable = Object.defineProperty({ ...answer }, "reason", {
        enumerable: true,
        get: () => {
          throw new Error("no")
        }
      })
      for (const wrong of [
        { ...answer, approved_by: "a".repeat(201) },
        { ...answer, modified_arguments: deep },
        unreadable
      ]) {
        const error = yield* Effect.flip(loops.respond(wrong, Stage.operator))
        assert.propertyVal(error, "_tag", "InvalidInput")
      }
      for (const nobody of [null, "ann", { id: "", tenant: "acme", roles: ["admin"] }] as never[]) {
        const tags = [
          (yield* Effect.flip(loops.respond(answer, nobody)))._tag,
          (yield* Effect.flip(loops.get(run, nobody)))._tag
        ]
        assert.deepStrictEqual(tags, ["InvalidInput", "InvalidInput"])
      }
      const none = yield* Effect.flip(loops.get(7 as never, Stage.operator))
      assert.deepInclude(none, { _tag: "InvalidInput", field: "loop_id" })
      const customer = new Principal({ ...Stage.operator, id: "carl", roles: ["customer"] })
      for (const loop_id of [run, "no-run"]) {
        const error = yield* Effect.flip(loops.respond({ ...answer, loop_id }, customer))
        assert.propertyVal(error, "_tag", "NotEntitled")
      }
      assert.strictEqual((yield* Stage.loop(run)).state, "awaiting_approval")
    })
  )
)
