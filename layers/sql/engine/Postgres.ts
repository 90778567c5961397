/**
 * PostgreSQL over the network: the client, wakeups between processes, and warnings where the server may lose what it acknowledged
 * or where the clocks differ.
 */
import { Clock, Context, Deferred, Effect, Layer, Queue, Schedule } from "effect"
import type { Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, SqlError } from "effect/sql"
import { StoreSpace } from "../../../services/StoreSpace.ts"
import type { PoolerUnusable } from "./PoolerUnusable.ts"
import type { Client } from "./PostgresClient.ts"
import { ErasedBytes, onServer } from "./ErasedBytes.ts"
import * as PostgresClient from "./PostgresClient.ts"
import { ServerSession } from "./ServerSession.ts"
import * as ServerSpace from "./ServerSpace.ts"
import { withReason } from "./SqlFailure.ts"
import { SqlNotify } from "./SqlNotify.ts"

export interface PostgresSettings {
  /**
   * The most connections, 5 to 500. Up to three of them listen, and one holds the locks of this process's owners. Of more than 13,
   * up to a quarter only read on behalf of principals. Absent = 16.
   */
  readonly connections_max?: number | undefined
  /** The longest time that a statement may take, in ms, by the server's clock. Absent = 30,000. */
  readonly statement_timeout_ms?: number | undefined
  /**
   * How long a statement may go unanswered, including the wait for a connection, in ms. Past that, the server or the network has
   * stopped, and the statement fails as if the connection was lost. Absent = 5,000 more than `statement_timeout_ms`.
   */
  readonly answer_timeout_ms?: number | undefined
}

export interface PostgresOptions extends PostgresSettings {
  readonly url: Redacted.Redacted
}

const statement_ms = 30_000
const answer_ms_more = 5_000
/** How long a statement may wait for a lock, in ms. Nothing in this runtime holds a lock for longer than 5 s. */
const lock_ms = 20_000

/** How long a transaction may be idle, in ms. An open snapshot makes updates of the runs' heads slower. */
const idle_in_transaction_ms = 60_000

const application_name = "troupe"

/**
 * A session keeps the plan of a prepared statement. If it planned while a table was small, reading the whole table seemed cheaper
 * than its index. With `enable_seqscan` off, the statements of this room find their rows by indexes, on small tables too. Where a
 * whole table has to be read all the same, servers before version 18 estimate such a cost that they would compile the statement
 * each time, so `jit` is off too. The body of a transactional tool may read whole tables (`SqlRunJournal.ts`).
 */
const planning = { enable_seqscan: "off", jit: "off" }

const statementMs = ({ statement_timeout_ms = statement_ms }: PostgresOptions): number =>
  statement_timeout_ms

/**
 * The most bytes of a row that is read: as much as PostgreSQL stores in a value. By default the client takes 16 MiB and would
 * break the connection at each read of a larger stored result, such as one of 20 MB.
 */
const row_bytes_max = 2 ** 30

const clientOptions = (options: PostgresOptions): PostgresClient.Options => ({
  pool: {
    url: options.url,
    maxMessageSize: row_bytes_max,
    applicationName: application_name,
    maxConnections: Math.min(Math.max(options.connections_max ?? 16, 5), 500),
    connectTimeout: "10 seconds",
    keepAlive: "30 seconds"
  },
  settings: {
    // A pooler sets what the client has said at its start by a statement of its own, which RESET ALL takes away.
    application_name,
    client_encoding: "UTF8",
    statement_timeout: String(statementMs(options)),
    lock_timeout: String(Math.min(lock_ms, statementMs(options))),
    idle_in_transaction_session_timeout: String(idle_in_transaction_ms),
    ...planning
  },
  answer_ms: options.answer_timeout_ms ?? statementMs(options) + answer_ms_more
})

/** The largest accepted difference of the clocks, in ms. Beyond it, processes misjudge the times that others write. */
const apart_ms_max = 2_000

/**
 * Logs a warning where a crash of the server may lose what it has acknowledged, and where this machine's clock differs from the
 * server's.
 */
const warn = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const before = yield* Clock.currentTimeMillis
  const [{ now, ...row } = { now: before }] = yield* sql<{ readonly now: number }>`
    SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,
      (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`
  const after = yield* Clock.currentTimeMillis
  // The database's clock was read at an unknown moment between the two readings.
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

const make = Effect.fnUntraced(
  function* (options: PostgresOptions) {
    const space = ServerSpace.make()
    const client = yield* PostgresClient.make(clientOptions(options), space.noticed)
    yield* warn(client.sql)
    return Context.make(SqlClient.SqlClient, client.sql).pipe(
      Context.add(SqlNotify, wakeups(client)),
      Context.add(StoreSpace, space.of(client.sql)),
      Context.add(ServerSession, client.session),
      Context.add(ErasedBytes, onServer(client.sql))
    )
  },
  Effect.mapError((error) => (SqlError.isSqlError(error) ? withReason(error) : error))
)

export const layer = (
  options: PostgresOptions
): Layer.Layer<SqlClient.SqlClient | SqlNotify, SqlError.SqlError | PoolerUnusable> =>
  Layer.effectContext(make(options)).pipe(Layer.provide(Reactivity.layer))
