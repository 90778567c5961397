/**
 * One timer for every deadline of a runtime. A timer per call costs half a microsecond and an allocation each; almost
 * no call meets its deadline, so here an armed deadline is an entry in a set and a clock read.
 */
import { Clock, Effect, Latch } from "effect"
import type { Scope } from "effect"

interface Entry {
  /** In ms of the monotonic clock. */
  readonly at: number
  readonly fire: () => void
}

export interface Deadlines {
  /** Calls `fire` once after `ms`, unless the returned function is called before. */
  readonly after: (ms: number, fire: () => void) => () => void
  /** Deadlines that are armed. */
  readonly armed: () => number
}

/** The timer lives as long as the scope; deadlines that are still armed then never fire. */
export const make: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  // The wall clock may be set while a deadline is armed: back, and a call would run for as much longer.
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000
  const bell = yield* Latch.make(false)
  const entries = new Set<Entry>()
  let next = Infinity
  let rearm = Latch.makeUnsafe(false)

  const fireDue = () => {
    const due = now()
    next = Infinity
    for (const entry of entries) {
      if (entry.at <= due) {
        entries.delete(entry)
        entry.fire()
      } else if (entry.at < next) next = entry.at
    }
  }

  yield* Effect.forkScoped(
    Effect.forever(
      Effect.suspend(() => {
        if (entries.size === 0) {
          next = Infinity
          bell.closeUnsafe()
          return bell.await
        }
        rearm = Latch.makeUnsafe(false)
        const wait = Math.max(next - now(), 0)
        return Effect.andThen(
          Effect.raceFirst(Effect.sleep(wait), rearm.await),
          Effect.sync(fireDue)
        )
      })
    ),
    { startImmediately: true }
  )

  return {
    armed: () => entries.size,
    after: (ms, fire) => {
      const entry: Entry = { at: now() + ms, fire }
      entries.add(entry)
      if (entry.at < next) {
        next = entry.at
        bell.openUnsafe()
        rearm.openUnsafe()
      }
      return () => {
        entries.delete(entry)
      }
    }
  }
})
