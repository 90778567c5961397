import { AsyncLocalStorage } from "node:async_hooks"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Scheduler, Scope } from "effect"
import * as LoopScheduler from "../../layers/runtime/fiber/LoopScheduler.ts"

const turn = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))

/** Runs one task at a time, when it is told to: a fiber yields before every third operation. */
class Steps implements Scheduler.Scheduler {
  readonly executionMode = "async"
  readonly #tasks: Array<() => void> = []
  #operations: number
  readonly shouldYield = () => ++this.#operations % 3 === 0
  readonly makeDispatcher = (): Scheduler.SchedulerDispatcher => ({
    scheduleTask: (task) => void this.#tasks.push(task),
    flush: () => {}
  })

  /** `phase`: 0 to 2, which third of the operations. */
  constructor(phase: number) {
    this.#operations = phase
  }

  /** At most `count` tasks, oldest first; how many there were. */
  run(count: number): number {
    for (let done = 0; done < count; done++) {
      const task = this.#tasks.shift()
      if (task === undefined) return done
      task()
    }
    return count
  }
}

const plenty = 1_000

/** A scheduler of loops and the task queue that it runs on, once nothing is left to be done. */
const stepped = (per_turn: number, phase: number) => {
  const steps = new Steps(phase)
  const made = Effect.runForkWith(Context.make(Scheduler.Scheduler, steps))(
    Scope.provide(LoopScheduler.make(per_turn), Scope.makeUnsafe())
  )
  steps.run(plenty)
  const exit = made.pollUnsafe()
  assert.isTrue(exit !== undefined && Exit.isSuccess(exit))
  return { steps, scheduler: (exit as Exit.Success<LoopScheduler.LoopScheduler>).value }
}

describe("the scheduler of a runtime's loops", () => {
  it.live(
    "resumes at most per_turn loops before the event loop turns, and the others in their order",
    () =>
      Effect.gen(function* () {
        const scheduler = yield* LoopScheduler.make(3)
        const went: Array<number> = []
        for (let n = 1; n <= 7; n++) scheduler.schedule({ resume: () => void went.push(n) })
        assert.deepStrictEqual(went, [1, 2, 3])
        assert.strictEqual(scheduler.waiting(), 4)
        yield* turn
        assert.deepStrictEqual(went, [1, 2, 3, 4, 5, 6])
        // Who comes now does not overtake those that wait.
        scheduler.schedule({ resume: () => void went.push(8) })
        yield* turn
        yield* turn
        assert.deepStrictEqual(went, [1, 2, 3, 4, 5, 6, 7, 8])
        assert.strictEqual(scheduler.waiting(), 0)
      })
  )

  it.live("counts anew with each turn, and leaves nothing scheduled", () =>
    Effect.gen(function* () {
      const scheduler = yield* LoopScheduler.make(2)
      let went = 0
      const take = () => scheduler.schedule({ resume: () => void went++ })
      for (let round = 1; round <= 3; round++) {
        take()
        take()
        assert.strictEqual(went, round * 2)
        yield* turn
      }
    })
  )

  it.live("resumes no loop in the asynchronous context of another", () =>
    Effect.gen(function* () {
      const storage = new AsyncLocalStorage<string>()
      const scheduler = yield* LoopScheduler.make(1)
      const seen: Array<string | undefined> = []
      for (const who of ["a", "b", "c"]) {
        storage.run(who, () =>
          scheduler.schedule({ resume: () => void seen.push(storage.getStore()) })
        )
      }
      yield* turn
      yield* turn
      assert.deepStrictEqual(seen, ["a", undefined, undefined])
    })
  )

  for (const per_turn of [1, 2, 3, LoopScheduler.loops_per_turn]) {
    it(`resumes every loop, wherever its own fiber is when the loop comes (${per_turn} per turn)`, () => {
      for (const phase of [0, 1, 2]) {
        // Its fiber is stopped after so many pieces of what it does: at each of them in turn.
        let pieces = 0
        for (let place = 0; place <= pieces; place++) {
          const { scheduler, steps } = stepped(per_turn, phase)
          let went = 0
          const take = () => scheduler.schedule({ resume: () => void went++ })
          take()
          if (steps.run(place) === place) pieces = place + 1
          for (let n = 0; n < per_turn * 2 + 1; n++) take()
          steps.run(plenty)
          assert.strictEqual(scheduler.waiting(), 0, `loops wait for ever after piece ${place}`)
          assert.strictEqual(went, per_turn * 2 + 2)
        }
        assert.isAbove(pieces, 2)
      }
    })
  }
})
