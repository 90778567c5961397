/**
 * Spans of what is asked of a memory. `Effect.fn` would capture a stack for each, also where no tracer listens, and a run asks three
 * times (bench row `send`).
 */
import { Effect } from "effect"

export const traced = <A, E, R>(
  name: string,
  asked: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ cache }) =>
    cache.tracer === undefined ? asked : Effect.withSpan(asked, name)
  )
