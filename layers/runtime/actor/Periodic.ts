/**
 * Work that a runtime does again and again for as long as its scope. It is nobody's request, so it makes no spans: an idle
 * process has nothing to trace.
 */
import { Effect } from "effect"
import type { Scope } from "effect"

/** Waits first, `first_ms` the first time. What fails is said, and done again after the same time. */
export const every = (
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
