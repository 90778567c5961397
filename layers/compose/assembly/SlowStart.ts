/**
 * Warns which part a start is waiting for. Parts that an application provides may never become ready, such as a model behind a
 * secret store that does not answer, and nothing else would report it.
 */
import { Effect, Fiber, Layer } from "effect"

/** How long a start waits for one part before it warns, and between two warnings. */
const warning_interval_s = 10

/** A Layer that warns every 10 s while it is being built. `part` is its name in the warning. */
export const warnWhileBuilding = <A, E, R>(
  part: string,
  layer: Layer.Layer<A, E, R>
): Layer.Layer<A, E, R> => {
  const warnings = Effect.gen(function* () {
    for (let seconds = warning_interval_s; ; seconds += warning_interval_s) {
      yield* Effect.sleep(`${warning_interval_s} seconds`)
      yield* Effect.logWarning(`the start has waited ${seconds} s for ${part}`)
    }
  })
  return Layer.effectContext(
    Effect.flatMap(Effect.forkChild(warnings), (warning) =>
      Effect.ensuring(Layer.build(layer), Fiber.interrupt(warning))
    )
  )
}
