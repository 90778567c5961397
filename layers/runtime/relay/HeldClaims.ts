/**
 * Claims of a queue by a process that lives while its store is away: what it holds is free for others as soon as the
 * store is back, and not only when a lease passes that nobody works under.
 */
import { Clock, Effect, Schedule } from "effect"
import type { StoreError } from "../../../services/TaskStore.ts"

const often = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("2 seconds")])

/** Tries while a stop waits for them: about 3 s. */
const stopping_tries_max = 6

/**
 * Writes down what became of a claim, again and again for `lease_ms`: after that the queue gives it to others anyway.
 * While a stop waits it gives up after a few tries.
 */
export const persistently = <A>(
  write: Effect.Effect<A, StoreError>,
  lease_ms: number,
  isStopping: () => boolean
): Effect.Effect<A, StoreError> => {
  let tries = 0
  return Effect.retry(write, {
    schedule: Schedule.upTo(often, { duration: lease_ms }),
    while: () => ++tries < stopping_tries_max || !isStopping()
  })
}

/** For how long a claim whose answer was lost may still come about: a statement of a lost session takes no longer, in ms. */
const comes_about_ms = 60_000

/**
 * Claims, each under its own name. One whose answer was lost may stand, and nobody knows what it took: before the next
 * one, and for a while, what is held under its name is given back.
 */
export const claiming = (
  release: (owners: ReadonlyArray<string>) => Effect.Effect<void, StoreError>
) => {
  /** The names, and until when (ms) each may still come to hold something. */
  const lost = new Map<string, number>()
  return Effect.fnUntraced(function* <A>(owner: string, claim: Effect.Effect<A, StoreError>) {
    const now = yield* Clock.currentTimeMillis
    if (lost.size > 0) {
      yield* release([...lost.keys()])
      for (const [name, until] of lost) if (until <= now) lost.delete(name)
    }
    return yield* Effect.tapError(claim, () =>
      Effect.sync(() => void lost.set(owner, now + comes_about_ms))
    )
  })
}
