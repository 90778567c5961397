/**
 * Work that a runtime does again and again for as long as its scope. It is nobody's request, so it makes no spans: an idle
 * process has nothing to trace.
 */
import { Effect } from "effect"
import type { Scope } from "effect"

/** Waits first. What fails is said, and done again after the same time. */
export const every = (
  ms: number,
  work: Effect.Effect<unknown, unknown>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.catchCause(work, (cause) =>
    Effect.logWarning("a periodic task of the runtime failed", cause)
  ).pipe(
    Effect.delay(ms),
    Effect.forever,
    Effect.withTracerEnabled(false),
    Effect.forkScoped,
    Effect.asVoid
  )
