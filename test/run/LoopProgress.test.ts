/** A loop in SemStreams' states. */
import { assert, it } from "@effect/vitest"
import { Result } from "effect"
import { LoopState } from "../../src/approval/SemStreams.ts"
import * as Loop from "../../src/run/LoopProgress.ts"

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
