/**
 * Work that a runtime repeats for as long as its scope. It belongs to no request, so it makes no spans: an idle process has
 * nothing to trace.
 */
import { Clock, Effect, Latch } from "effect"
import type { Cause, Scope } from "effect"

const failedDefault = (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.logWarning("a periodic task of the runtime failed", cause)

/** Runs `work` every `ms`, first after `first_ms`. `failed` reports a failure, and the work is repeated all the same. */
export const startPeriodic = <E>(
  ms: number,
  work: Effect.Effect<unknown, E>,
  first_ms: number = ms,
  failed: (cause: Cause.Cause<E>) => Effect.Effect<void> = failedDefault
): Effect.Effect<void, never, Scope.Scope> => {
  const once = Effect.catchCause(work, failed)
  return Effect.delay(once, first_ms).pipe(
    Effect.andThen(Effect.forever(Effect.delay(once, ms))),
    Effect.withTracerEnabled(false),
    Effect.forkScoped,
    Effect.asVoid
  )
}

/** In ms of the monotonic clock, which is never set. */
export const elapsedMs = (clock: Clock.Clock): number =>
  Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000

/** The shortest wait of an alarm: where much is due within it, one round of the work serves all of that. */
const rest_ms = 100

/** The earliest of the times at which a periodic work is to run before its interval is over, in ms since 1970. */
export class Alarm {
  #at = Infinity
  readonly #isSooner = Latch.makeUnsafe()

  set(at: number): void {
    if (at >= this.#at) return
    this.#at = at
    this.#isSooner.openUnsafe()
  }

  /** Waits for `ms` or until the time of the alarm, whichever is first; then the alarm has no time. */
  readonly wait = Effect.fnUntraced({ self: this }, function* (ms: number) {
    const clock = yield* Clock.Clock
    // The interval by the monotonic clock: where the wall clock is set back, it would last as much longer.
    const start = elapsedMs(clock)
    for (;;) {
      const passed = elapsedMs(clock) - start
      const due = passed + this.#at - clock.currentTimeMillisUnsafe()
      const left = Math.min(ms, Math.max(due, rest_ms)) - passed
      if (left <= 0) break
      this.#isSooner.closeUnsafe()
      yield* Effect.timeoutOption(this.#isSooner.await, Math.ceil(left))
    }
    this.#at = Infinity
  })
}

/** As `startPeriodic`, but the work also runs at the times of the alarm. */
export const startAlarmed = <E>(
  ms: number,
  alarm: Alarm,
  work: Effect.Effect<unknown, E>
): Effect.Effect<void, never, Scope.Scope> =>
  alarm
    .wait(ms)
    .pipe(
      Effect.andThen(Effect.catchCause(work, failedDefault)),
      Effect.forever,
      Effect.withTracerEnabled(false),
      Effect.forkScoped,
      Effect.asVoid
    )
