/**
 * An Effect whose first step needs no fiber. A store in memory is done at once, and a fiber for each of its answers costs
 * more than the answer; yet nothing may happen before the Effect is run.
 */
import { Effect, Exit } from "effect"

const first = Symbol.for("troupe/FirstStep")

interface Suspended<A, E, R> extends Effect.Effect<A, E, R> {
  [first]?: () => Effect.Effect<A, E, R>
}

/** As `Effect.suspend`, and `begun` may take its first step. */
export const suspended = <A, E, R>(step: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const effect: Suspended<A, E, R> = Effect.suspend(step)
  effect[first] = step
  return effect
}

/** Takes the first step of an Effect that allows it, and gives what is left; often an Exit. Any other is left as it is. */
export const begun = <A, E, R>(effect: Suspended<A, E, R>): Effect.Effect<A, E, R> => {
  const step = effect[first]
  return step === undefined ? effect : step()
}

/** An Effect that is its own result. */
export const isDone = <A, E, R>(effect: Effect.Effect<A, E, R>): effect is Exit.Exit<A, E> =>
  Exit.isExit(effect)
