/**
 * Gauges whose value is there already: it is read when metrics are, and costs nothing until then.
 */
import { Effect, Metric } from "effect"
import type { Scope } from "effect"

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
