/**
 * Spans of functions, for whoever traces.
 */
import { Effect } from "effect"

/**
 * The function, each call of which is a span of this name where the fiber has a tracer. Without one it is called as it is:
 * `Effect.fn` captures a stack at each call, also where nobody sees a span (bench row `http`).
 */
export const spanned =
  <Args extends ReadonlyArray<unknown>, A, E, R>(
    name: string,
    call: (...args: Args) => Effect.Effect<A, E, R>
  ): ((...args: Args) => Effect.Effect<A, E, R>) =>
  (...args) =>
    Effect.withFiber((fiber) => {
      const called = call(...args)
      return fiber.cache.tracer === undefined ? called : Effect.withSpan(called, name)
    })
