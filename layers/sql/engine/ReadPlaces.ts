/**
 * Keeps few statements of grouped reads under way at once, of all kinds together. Each needs a session of its own, which plans
 * for itself all that it is asked: a process that has just started would spend a fifth more of the server's time on that
 * (bench row `answers`). Private to this room.
 */
import { Deferred, Effect, Exit } from "effect"
import type { SqlClient } from "effect/sql"

/** Statements that are under way before others wait. */
const places_max = 2
/** How long one waits for others, in ms. Then it goes all the same: a statement without an answer holds up no other kind. */
const wait_ms = 100

class ReadPlaces {
  readonly #waiting = new Set<Deferred.Deferred<void>>()
  #taken = 0

  /** Runs `read` in a place, as soon as there is one; without a place where none becomes free in time. */
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

/** The same for all kinds of reads of this client. */
export const of = (sql: SqlClient.SqlClient): ReadPlaces => {
  const known = places.get(sql)
  if (known !== undefined) return known
  const made = new ReadPlaces()
  places.set(sql, made)
  return made
}
