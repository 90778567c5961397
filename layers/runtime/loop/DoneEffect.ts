/**
 * Effects that are often done at their first step, as those of a store in memory are: a fiber for each would cost more
 * than what it does.
 */
import { Effect, Exit } from "effect"

/** An Effect that is its own result. */
export const isDone = <A, E, R>(effect: Effect.Effect<A, E, R>): effect is Exit.Exit<A, E> =>
  Exit.isExit(effect)

const first = Symbol.for("troupe/FirstStep")

type Does<Asked, A, E, R> = (asked: Asked) => Effect.Effect<A, E, R>

interface Suspended<Asked, A, E, R> extends Does<Asked, A, E, R> {
  readonly [first]?: Does<Asked, A, E, R>
}

/** Gives Effects that do nothing before they are run, as it should be; `begin` runs their first step without a fiber. */
export const suspended = <Asked, A, E, R>(step: Does<Asked, A, E, R>): Does<Asked, A, E, R> =>
  Object.assign((asked: Asked) => Effect.suspend(() => step(asked)), { [first]: step })

/** What a port's member is asked, begun if it allows that: then what it gives is what is left to run, often an Exit. */
export const begin = <Asked, A, E, R>(
  port: unknown,
  does: Suspended<Asked, A, E, R>,
  asked: Asked
): Effect.Effect<A, E, R> => {
  const step = does[first]
  return step === undefined ? does.call(port, asked) : step(asked)
}
