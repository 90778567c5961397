/**
 * Finds a pooler between this process and its server, and refuses one that does not keep sessions, such as PgBouncer with
 * `pool_mode = transaction`: it gives each transaction any of its own sessions, and a session's settings, channels and locks are
 * then those of whoever has it next. Changes nothing in a session.
 */
import type { PgConnection, PgPool } from "@effect/sql-pg"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { PoolerUnusable } from "./PoolerUnusable.ts"

const shared = new PoolerUnusable({
  reason:
    "it gives the transactions of a connection to different sessions of the server, which loses settings, LISTEN and locks. " +
    "Set its pool_mode to session (for this database or user alone, if others need another mode), or connect to the server itself"
})

const tooFew = (given: number) =>
  new PoolerUnusable({
    reason:
      `it gave ${given} of the ${sessions_min} sessions that a process needs. Raise its pool size (default_pool_size) to ` +
      "connections_max for each process and each command that runs at the same time"
  })

/**
 * The sessions that are compared, which every process needs anyway. Some poolers are several processes at one address, each with
 * its own sessions: of five connections two share such a process if there are at most four.
 */
const sessions_min = 5

const backendOf = (connection: PgConnection.PgConnection) =>
  Effect.map(
    connection.query("SELECT pg_backend_pid() AS pid", [], false),
    ({ rows }) => rows[0]?.["pid"] as number
  )

/**
 * Whether there is a pooler. A server names the process of a session when it begins; a pooler names one of its own making, because
 * it does not know yet which session it will use. Only then are several connections asked for their processes, one after the
 * other and again in another order: no two may have had the same, and none may change. A pooler that shares sessions gives the
 * first free one, or the next: either way somebody gets another's. Each step takes at most `answer_ms`.
 */
export const find = (
  pool: PgPool.PgPool,
  answer_ms: number,
  inTime: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>
): Effect.Effect<boolean, SqlError.SqlError | PoolerUnusable> =>
  Effect.gen(function* () {
    const first = yield* inTime(pool.get)
    const process = yield* inTime(backendOf(first))
    if (process === first.processId) return false
    const owners = new Map([[process, first]])
    const ask = Effect.fnUntraced(function* (connection: PgConnection.PgConnection) {
      const found = yield* backendOf(connection)
      if ((owners.get(found) ?? connection) !== connection) return yield* shared
      owners.set(found, connection)
    })
    const connections = [first]
    const late = {
      duration: answer_ms,
      orElse: () => Effect.fail(tooFew(owners.size))
    }
    while (connections.length < sessions_min) {
      const next = yield* Effect.timeoutOrElse(Effect.interruptible(pool.get), late)
      yield* Effect.timeoutOrElse(Effect.interruptible(ask(next)), late)
      connections.push(next)
    }
    yield* Effect.forEach([...connections.toReversed(), ...connections], (connection) =>
      inTime(ask(connection))
    )
    if (owners.size > connections.length) return yield* shared
    return true
  }).pipe(Effect.scoped)
