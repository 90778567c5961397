/**
 * Claims on a durable queue whose store may stop answering while the process lives. What the process holds is free for
 * others as soon as the store answers again, and not only when a lease that nobody works under has passed.
 */
import { Clock, Effect, Schedule } from "effect"
import type { StoreError } from "../../../services/StoreError.ts"

const retries = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("2 seconds")])

/** Tries of one report while a stop waits for it: about 3 s. */
const stopping_tries_max = 6

/**
 * How long a claim whose answer was lost may still take effect in the store, in ms: no statement of a lost session runs
 * longer than that.
 */
const lost_claim_ms = 60_000

export interface ResilientClaims {
  /**
   * Claims under the name `owner`. Where the answer of a claim was lost, nobody knows which items it took; so before the
   * next claim, and for `lost_claim_ms`, everything that is held under its name is released.
   */
  readonly claim: <A>(
    owner: string,
    claim: Effect.Effect<A, StoreError>
  ) => Effect.Effect<A, StoreError>
  /**
   * Writes down what became of an item. Retries for the length of the lease, because after that the queue gives the item
   * to others anyway; while the process stops, at most `stopping_tries_max` times.
   */
  readonly report: <A>(write: Effect.Effect<A, StoreError>) => Effect.Effect<A, StoreError>
}

export const makeResilientClaims = (
  release: (owners: ReadonlyArray<string>) => Effect.Effect<void, StoreError>,
  lease_ms: number,
  isStopping: () => boolean
): ResilientClaims => {
  /** The names of lost claims, and until when (ms since 1970) each may still come to hold something. */
  const lost = new Map<string, number>()
  return {
    claim: Effect.fnUntraced(function* (owner, claim) {
      const now = yield* Clock.currentTimeMillis
      if (lost.size > 0) {
        yield* release([...lost.keys()])
        for (const [name, until] of lost) if (until <= now) lost.delete(name)
      }
      return yield* Effect.tapError(claim, () =>
        Effect.sync(() => void lost.set(owner, now + lost_claim_ms))
      )
    }),
    report: (write) =>
      Effect.suspend(() => {
        let tries = 0
        return Effect.retry(write, {
          schedule: Schedule.upTo(retries, { duration: lease_ms }),
          while: () => ++tries < stopping_tries_max || !isStopping()
        })
      })
  }
}
