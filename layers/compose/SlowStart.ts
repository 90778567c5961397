/**
 * Says which part a start waits for. Parts that an application gives may never be ready, such as a model behind a secret store
 * that does not answer, and nothing else would say so.
 */
import { Effect, Fiber, Layer } from "effect"

/** How long a start waits for one part before it says so, and then says it again. */
const noticed_s = 10

/** The Layer, which warns every 10 s while it is being built. `part` names it to an operator. */
export const noticed = <A, E, R>(
  part: string,
  layer: Layer.Layer<A, E, R>
): Layer.Layer<A, E, R> => {
  const warnings = Effect.gen(function* () {
    for (let seconds = noticed_s; ; seconds += noticed_s) {
      yield* Effect.sleep(`${noticed_s} seconds`)
      yield* Effect.logWarning(`the start has waited ${seconds} s for ${part}`)
    }
  })
  return Layer.effectContext(
    Effect.flatMap(Effect.forkChild(warnings), (warning) =>
      Effect.ensuring(Layer.build(layer), Fiber.interrupt(warning))
    )
  )
}
