/**
 * Wraps functions in tracing spans.
 */
import { Effect } from "effect"

/**
 * The function with a span of this name around each call, if the fiber has a tracer. Without one it is called directly:
 * `Effect.fn` would capture a stack at each call even if no span is recorded (bench row `http`).
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
