/**
 * Spans and metrics.
 */
import { Effect, Metric } from "effect"
import type { Scope } from "effect"

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

export const totalMetric = (
  name: `troupe_${string}_total`,
  description: string
): Metric.Counter<number> => Metric.counter(name, { description, incremental: true })

export const calls_unknown_total = totalMetric(
  "troupe_calls_unknown_total",
  "Calls whose outcome became unknown, by tool"
)

/** Until the scope closes. A later one of the same name takes its place. */
export const readGauge = (
  name: string,
  description: string,
  read: () => number
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.map(Effect.context<never>(), (context) =>
        Metric.registerUnsafe(Metric.gauge(name, { description }), context, {
          get: () => ({ value: read() }),
          update: () => {},
          modify: () => {}
        })
      ),
      (registration) => Effect.sync(() => registration.remove())
    )
  )
