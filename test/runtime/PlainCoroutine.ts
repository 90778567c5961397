/**
 * What a `Coroutine` means, in Effect's own terms: one fiber runs the generator, and sleeps at a latch that a wakeup opens. It
 * costs a fiber for each that sleeps, and has no turns: it passes the tests of what a coroutine does, and not those of how it is
 * scheduled.
 */
import { Effect, Latch } from "effect"
import type { Steps } from "../../layers/runtime/fiber/Coroutine.ts"

export class PlainCoroutine<A, E> {
  readonly #steps: Steps<A, E>
  readonly #wakeup = Latch.makeUnsafe(false)

  constructor(steps: Steps<A, E>) {
    this.#steps = steps
  }

  run(atEnd: () => Effect.Effect<void> | undefined = () => undefined): Effect.Effect<A, E> {
    return Effect.onExit(this.#advance(undefined), () =>
      Effect.suspend(() => atEnd() ?? Effect.void)
    )
  }

  #advance(value: unknown): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const step = this.#steps.next(value)
      if (step.done === true) return step.value
      const awaited = step.value ?? Effect.andThen(this.#wakeup.await, this.#wakeup.close)
      return Effect.flatMap(awaited, (next) =>
        this.#advance(step.value === undefined ? undefined : next)
      )
    })
  }

  wake(): void {
    this.#wakeup.openUnsafe()
  }

  resumeSoon(): void {
    this.wake()
  }
}
