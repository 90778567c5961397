/**
 * Work that a runtime repeats for as long as its scope. It belongs to no request, so it makes no spans: an idle process has
 * nothing to trace.
 */
import { Effect } from "effect"
import type { Cause, Scope } from "effect"

/** Runs `work` every `ms`, first after `first_ms`. `failed` reports a failure, and the work is repeated all the same. */
export const startPeriodic = <E>(
  ms: number,
  work: Effect.Effect<unknown, E>,
  first_ms: number = ms,
  failed = (cause: Cause.Cause<E>): Effect.Effect<void> =>
    Effect.logWarning("a periodic task of the runtime failed", cause)
): Effect.Effect<void, never, Scope.Scope> => {
  const once = Effect.catchCause(work, failed)
  return Effect.delay(once, first_ms).pipe(
    Effect.andThen(Effect.forever(Effect.delay(once, ms))),
    Effect.withTracerEnabled(false),
    Effect.forkScoped,
    Effect.asVoid
  )
}
