/**
 * PostgreSQL over the network: the client, wakeups between processes, and a warning where the server may forget what it acknowledged.
 */
import type { PgPool } from "@effect/sql-pg"
import { Clock, Context, Deferred, Effect, Layer, Queue, Schedule } from "effect"
import type { Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { StoreSpace } from "../../../services/StoreSpace.ts"
import { BatchWriters } from "./BatchWriters.ts"
import type { Client } from "./PostgresClient.ts"
import * as PostgresClient from "./PostgresClient.ts"
import * as ServerSpace from "./ServerSpace.ts"
import { withReason } from "./SqlFailure.ts"
import { SqlNotify } from "./SqlNotify.ts"

export interface PostgresSettings {
  /** Connections of the pool, three of which may listen, and one holds the locks of its owners. 5 to 500; 13 by default. */
  readonly connections_max?: number | undefined
  /** What a statement may take, in ms; 30,000 by default. The server keeps this limit. */
  readonly statement_timeout_ms?: number | undefined
  /**
   * How long a statement may go unanswered, the wait for a connection included, in ms; 5,000 more than `statement_timeout_ms`
   * by default. Then the server stands still, or the network does, and the statement fails as over a lost connection.
   */
  readonly answer_timeout_ms?: number | undefined
}

export interface PostgresOptions extends PostgresSettings {
  readonly url: Redacted.Redacted
}

const statement_ms = 30_000
const answer_ms_more = 5_000
/** How long a statement may wait for what others have locked, in ms. Nothing here holds a lock for longer than 5 s. */
const lock_ms = 20_000

/** How long a transaction may wait for its own process, in ms: a held snapshot makes every head's update slower. */
const idle_in_transaction_ms = 60_000

/**
 * A session keeps the plan of a statement that it prepared, and may have made it while a table was small: read whole, the
 * table then seems cheaper than its index. The statements of this room find their rows by indexes, on small tables too.
 * Where one has to be read whole all the same, servers before version 18 estimate a cost for which they would compile the
 * statement each time: hence `jit`. In the body of a transactional tool whole tables may be read (`SqlRunJournal.ts`).
 */
const planning = { enable_seqscan: "off", jit: "off" }

const statementMs = ({ statement_timeout_ms = statement_ms }: PostgresOptions): number =>
  statement_timeout_ms

/**
 * Of a row that is read, in bytes: as much as PostgreSQL keeps in a value. The client would take 16 MiB, and break the connection at
 * each read of a result of 20 MB that was written.
 */
const row_bytes_max = 2 ** 30

const settings = (options: PostgresOptions): PgPool.Config => ({
  url: options.url,
  maxMessageSize: row_bytes_max,
  applicationName: "troupe",
  maxConnections: Math.min(Math.max(options.connections_max ?? 13, 5), 500),
  connectTimeout: "10 seconds",
  keepAlive: "30 seconds",
  startupParameters: {
    statement_timeout: String(statementMs(options)),
    lock_timeout: String(Math.min(lock_ms, statementMs(options))),
    idle_in_transaction_session_timeout: String(idle_in_transaction_ms),
    ...planning
  }
})

/** Processes whose clocks are further apart judge times of each other wrongly. */
const apart_ms_max = 2_000

/** Warns where a crash of the server may lose what it has acknowledged, and where this machine's clock is not the server's. */
const warn = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const before = yield* Clock.currentTimeMillis
  const [{ now, ...row } = { now: before }] = yield* sql<{ readonly now: number }>`
    SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,
      (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`
  const after = yield* Clock.currentTimeMillis
  // Between the moments of the question and the answer it is not known.
  const apart = Math.max(before - now, now - after)
  if (apart > apart_ms_max) {
    yield* Effect.logWarning(
      `this machine's clock is ${Math.round(apart / 1_000)} s ${now > after ? "behind" : "ahead of"} that of PostgreSQL: ` +
        "approvals expire, and messages are sent again, by the clock of each process. Keep the clocks of all machines in step (NTP)"
    )
  }
  for (const [name, value] of Object.entries(row ?? {})) {
    if (value !== "off") continue
    yield* Effect.logWarning(
      `PostgreSQL runs with ${name} = off: what the journal has acknowledged may be lost when the server stops`
    )
  }
})

const reconnect = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("10 seconds")])

const wakeups = ({ listen }: Client) =>
  SqlNotify.of({
    listen: Effect.fnUntraced(function* (channel, callback) {
      const ready = yield* Deferred.make<void, SqlError.SqlError>()
      let hasListened = false
      const session = Effect.scoped(
        Effect.gen(function* () {
          const queue = yield* listen(channel)
          if (hasListened) callback(undefined)
          hasListened = true
          Deferred.doneUnsafe(ready, Effect.void)
          return yield* Effect.forever(
            Effect.map(Queue.take(queue), ({ payload }) => callback(payload))
          )
        })
      )
      const again = session.pipe(
        // The first attempt fails the caller of `listen`; later ones are retried here.
        Effect.tapCause((cause) =>
          Effect.andThen(
            Deferred.failCause(ready, cause),
            hasListened
              ? Effect.logWarning(`The listener of ${channel} lost its connection; it reconnects`)
              : Effect.void
          )
        ),
        Effect.catchDefect(Effect.fail),
        Effect.retry({ schedule: reconnect, while: () => hasListened })
      )
      yield* Effect.forkScoped(Effect.ignoreCause(again))
      return yield* Deferred.await(ready)
    })
  })

const make = Effect.fnUntraced(function* (options: PostgresOptions) {
  const answer_ms = options.answer_timeout_ms ?? statementMs(options) + answer_ms_more
  const space = ServerSpace.make()
  const client = yield* PostgresClient.make(settings(options), answer_ms, space.noticed)
  yield* Effect.mapError(warn(client.sql), withReason)
  return Context.make(SqlClient.SqlClient, client.sql).pipe(
    Context.add(SqlNotify, wakeups(client)),
    Context.add(StoreSpace, space.of(client.sql)),
    Context.add(BatchWriters, 2)
  )
})

export const layer = (
  options: PostgresOptions
): Layer.Layer<SqlClient.SqlClient | SqlNotify, SqlError.SqlError> =>
  Layer.effectContext(make(options)).pipe(Layer.provide(Reactivity.layer))
