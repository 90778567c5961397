/**
 * Limits how many statements of grouped reads of all kinds run at the same time. Each needs a session, and each session plans
 * every statement for itself: for a process that has just started, that would take a fifth more of the server's time (bench row
 * `answers`). Private to this room.
 */
import { Deferred, Effect, Exit } from "effect"
import type { SqlClient } from "effect/sql"

/** How many statements may run before others wait. */
const places_max = 2
/**
 * How long a statement waits for others, in ms. After that it runs all the same, so that a statement without an answer blocks no
 * other kind.
 */
const wait_ms = 100

class ReadPlaces {
  readonly #waiting = new Set<Deferred.Deferred<void>>()
  #taken = 0

  /** Runs `read` as soon as a place is free; after `wait_ms` it runs without one. */
  within<A, E>(read: Effect.Effect<A, E>): Effect.Effect<A, E> {
    const placed = Effect.acquireUseRelease(
      Effect.sync(() => void this.#taken++),
      () => read,
      () => Effect.sync(() => this.#leave())
    )
    return Effect.suspend(() =>
      this.#taken < places_max ? placed : Effect.andThen(this.#turn, placed)
    )
  }

  readonly #turn = Effect.suspend(() => {
    const turn = Deferred.makeUnsafe<void>()
    this.#waiting.add(turn)
    return Effect.ensuring(
      Effect.timeoutOption(Deferred.await(turn), wait_ms),
      Effect.sync(() => this.#waiting.delete(turn))
    )
  })

  #leave(): void {
    this.#taken--
    const [next] = this.#waiting
    if (next === undefined || this.#taken >= places_max) return
    this.#waiting.delete(next)
    Deferred.doneUnsafe(next, Exit.void)
  }
}

const places = new WeakMap<SqlClient.SqlClient, ReadPlaces>()

/** The one instance for this client, shared by all kinds of reads. */
export const of = (sql: SqlClient.SqlClient): ReadPlaces => {
  const known = places.get(sql)
  if (known !== undefined) return known
  const made = new ReadPlaces()
  places.set(sql, made)
  return made
}
