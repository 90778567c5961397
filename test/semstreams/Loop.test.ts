/** A loop in SemStreams' states. */
import { assert, it } from "@effect/vitest"
import { Result } from "effect"
import { LoopState } from "../../src/semstreams/Approvals.ts"
import * as Loop from "../../src/semstreams/Loop.ts"

const fresh = Result.getOrThrow(Loop.begin())
const terminal = ["complete", "failed", "cancelled"] as const

it("SM-92 to stay is nothing, in a state that is over too; to leave that is refused", () => {
  for (const state of LoopState.literals) {
    const loop = { ...fresh, state }
    assert.strictEqual(Result.getOrThrow(Loop.transition(loop, state)), loop)
    for (const to of LoopState.literals) {
      if (to === state) continue
      const moved = Loop.transition(loop, to)
      assert.strictEqual(
        Result.isFailure(moved),
        terminal.some((each) => each === state)
      )
    }
  }
})

it("SM-92 a state that nobody knows is refused", () => {
  for (const to of ["paused", "", "Complete", "constructor"]) {
    const moved = Loop.transition(fresh, to)
    assert.deepStrictEqual(moved, Result.fail(`unknown loop state ${to}`))
  }
})

it("SM-20 a loop that is over keeps its result, whatever a late tool says", () => {
  const ended = Result.getOrThrow(Loop.receive(fresh, { content: "first", stop_loop: true }))
  assert.deepInclude(ended, { state: "complete", result: "first" })
  assert.isTrue(Result.isFailure(Loop.receive(ended, { content: "second", stop_loop: true })))
  assert.strictEqual(Result.getOrThrow(Loop.receive(ended, { content: "second" })), ended)
})

it("SM-93 a loop has as many turns as it may, and then no more", () => {
  let loop = Result.getOrThrow(Loop.begin(2))
  for (const iterations of [1, 2]) {
    loop = Result.getOrThrow(Loop.increment(loop))
    assert.deepStrictEqual(loop, { state: "exploring", iterations, max_iterations: 2 })
  }
  assert.deepStrictEqual(Loop.increment(loop), Result.fail("max iterations reached"))
})

it("SM-93 a loop begins with 20 turns, or with a whole number from 1 to 1,000", () => {
  assert.deepStrictEqual(fresh, { state: "exploring", iterations: 0, max_iterations: 20 })
  for (const most of [1, 1_000]) {
    assert.strictEqual(Result.getOrThrow(Loop.begin(most)).max_iterations, most)
  }
  for (const most of [0, -1, Number.NaN]) {
    assert.deepStrictEqual(Loop.begin(most), Result.fail("max_iterations must be greater than 0"))
  }
  for (const most of [1.5, 1_001, Infinity]) {
    assert.deepStrictEqual(
      Loop.begin(most),
      Result.fail("max_iterations must be a whole number of at most 1000")
    )
  }
})

it("SM-20 SM-92 a loop that is over says so to whoever would go on with it", () => {
  for (const state of terminal) {
    const loop = { ...fresh, state }
    assert.deepStrictEqual(
      Loop.transition(loop, "exploring"),
      Result.fail(`cannot transition from terminal state ${state}`)
    )
    assert.deepStrictEqual(
      Loop.receive(loop, { stop_loop: true }),
      Result.fail(`cannot complete a loop from terminal state ${state}`)
    )
  }
  assert.strictEqual(Result.getOrThrow(Loop.receive(fresh, { stop_loop: true })).result, "")
  assert.strictEqual(Result.getOrThrow(Loop.receive(fresh, {})), fresh)
})
