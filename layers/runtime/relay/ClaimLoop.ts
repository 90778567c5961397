/**
 * When a durable queue is looked at: at a bell, when something is due, and at the latest after a sweep.
 */
import { Cause, Clock, Effect } from "effect"
import type { Latch } from "effect"
import type { StoreError } from "../../../services/TaskStore.ts"

export interface DueWatch {
  /** What does not answer, as a warning names it. */
  readonly name: string
  /** Takes what is due, and gives how much that was; undefined = there was no room, and what ends rings the bell. */
  readonly take: Effect.Effect<number | undefined, StoreError>
  /** ms since 1970; undefined = nothing waits. */
  readonly nextDueAt: Effect.Effect<number | undefined, StoreError>
  readonly bell: Latch.Latch
  readonly sweep_ms: number
}

/** The first wait after a look that found nothing though something is due: it waits for a handler or an owner elsewhere. */
const idle_initial_ms = 25

/** The wait after a store did not answer. */
const away_ms = 1_000

const warned = (name: string, cause: Cause.Cause<StoreError>) => {
  const error = Cause.findErrorOption(cause)
  return error._tag === "Some"
    ? Effect.logWarning(`the ${name} did not answer: ${error.value.message}`)
    : Effect.logError(`a look at the ${name} broke`, cause)
}

/** Takes whenever there may be something. For ever: a store that is away is a warning, and so is a look that broke. */
export const takeWheneverDue = ({
  bell,
  name,
  nextDueAt,
  sweep_ms,
  take
}: DueWatch): Effect.Effect<never> => {
  let idle_ms = idle_initial_ms

  const pause = Effect.gen(function* () {
    const due = yield* nextDueAt
    const now = yield* Clock.currentTimeMillis
    if (due === undefined) return sweep_ms
    if (due > now) return Math.min(due - now, sweep_ms)
    idle_ms = Math.min(idle_ms * 2, sweep_ms)
    return idle_ms
  })

  const look = Effect.gen(function* () {
    yield* bell.await
    yield* bell.close
    const taken = yield* take
    if (taken === undefined) return
    if (taken > 0) idle_ms = idle_initial_ms
    else yield* Effect.timeoutOption(bell.await, yield* pause)
    yield* bell.open
  })

  return look.pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : warned(name, cause).pipe(
            Effect.andThen(Effect.sleep(Math.min(away_ms, sweep_ms))),
            Effect.andThen(bell.open)
          )
    ),
    Effect.forever
  )
}
