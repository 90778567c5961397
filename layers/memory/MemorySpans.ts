/**
 * Spans for the calls of a memory. `Effect.fn` would capture a stack for each call, even if no tracer listens, and a run makes
 * three calls (bench row `send`).
 */
import { Effect } from "effect"

export const traced = <A, E, R>(
  name: string,
  asked: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ cache }) =>
    cache.tracer === undefined ? asked : Effect.withSpan(asked, name)
  )
