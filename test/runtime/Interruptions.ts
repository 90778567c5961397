/** Interrupts an effect at each place where its fiber may yield to others. */
import { Effect, Fiber, Scheduler } from "effect"

/** Yields before the operation with this number, and not before others. */
class YieldsOnce extends Scheduler.MixedScheduler {
  #left: number
  constructor(operations: number) {
    super()
    this.#left = operations
  }
  override shouldYield(): boolean {
    return --this.#left === 0
  }
}

/** Begins the effect `operations_max` times. The first is interrupted before its first operation, and each later one an operation later. */
export const interruptedAnywhere = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  operations_max: number
): Effect.Effect<void, never, R> =>
  Effect.gen(function* () {
    for (let operations = 1; operations <= operations_max; operations++) {
      const begun = Effect.provideService(effect, Scheduler.Scheduler, new YieldsOnce(operations))
      yield* Fiber.interrupt(yield* Effect.forkChild(begun, { startImmediately: true }))
    }
  })
