/**
 * Work that a runtime repeats for as long as its scope. It belongs to no request, so it makes no spans: an idle process has
 * nothing to trace.
 */
import { Effect } from "effect"
import type { Scope } from "effect"

/** Runs `work` every `ms`, the first time after `first_ms`. A failure is logged, and the work is repeated all the same. */
export const startPeriodic = (
  ms: number,
  work: Effect.Effect<unknown, unknown>,
  first_ms: number = ms
): Effect.Effect<void, never, Scope.Scope> => {
  const once = Effect.catchCause(work, (cause) =>
    Effect.logWarning("a periodic task of the runtime failed", cause)
  )
  return Effect.delay(once, first_ms).pipe(
    Effect.andThen(Effect.forever(Effect.delay(once, ms))),
    Effect.withTracerEnabled(false),
    Effect.forkScoped,
    Effect.asVoid
  )
}
