/**
 * PostgreSQL over the network: the client, wakeups between processes, and a warning where the server may forget what it acknowledged.
 */
import { PgClient } from "@effect/sql-pg"
import { Deferred, Effect, Layer, Queue, Schedule } from "effect"
import type { Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { SqlNotify } from "./SqlNotify.ts"

export interface PostgresOptions {
  readonly url: Redacted.Redacted
  /** Connections of the pool, three of which may listen, and one holds the locks of its owners. 5 to 500; 13 by default. */
  readonly connections_max?: number | undefined
  /** What a statement may take, in ms; 30,000 by default. */
  readonly statement_timeout_ms?: number | undefined
}

/** How long a transaction may wait for its own process, in ms: a held snapshot makes every head's update slower. */
const idle_in_transaction_ms = 60_000

/**
 * A session keeps the plan of a statement that it prepared, and may have made it while a table was small: read whole, the
 * table then seems cheaper than its index. The statements of this room find their rows by indexes, on small tables too.
 * Where one has to be read whole all the same, servers before version 18 estimate a cost for which they would compile the
 * statement each time: hence `jit`. In the body of a transactional tool whole tables may be read (`SqlRunJournal.ts`).
 */
const planning = { enable_seqscan: "off", jit: "off" }

const settings = (options: PostgresOptions): PgClient.PgPoolConfig => ({
  url: options.url,
  applicationName: "troupe",
  maxConnections: Math.min(Math.max(options.connections_max ?? 13, 5), 500),
  connectTimeout: "10 seconds",
  keepAlive: "30 seconds",
  startupParameters: {
    statement_timeout: String(options.statement_timeout_ms ?? 30_000),
    idle_in_transaction_session_timeout: String(idle_in_transaction_ms),
    ...planning
  }
})

/** Warns where a crash of the server may lose what it has acknowledged. */
const warn = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [row] = yield* sql`
    SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit`
  for (const [name, value] of Object.entries(row ?? {})) {
    if (value !== "off") continue
    yield* Effect.logWarning(
      `PostgreSQL runs with ${name} = off: what the journal has acknowledged may be lost when the server stops`
    )
  }
})

const reconnect = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("10 seconds")])

const wakeups = (pg: PgClient.PgClient) =>
  SqlNotify.of({
    listen: Effect.fnUntraced(function* (channel, callback) {
      const ready = yield* Deferred.make<void, SqlError.SqlError>()
      let hasListened = false
      const session = Effect.scoped(
        Effect.gen(function* () {
          const queue = yield* pg.listen(channel)
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

const notify: Layer.Layer<SqlNotify, never, PgClient.PgClient> = Layer.effect(
  SqlNotify,
  Effect.map(PgClient.PgClient, wakeups)
)

const durability: Layer.Layer<never, SqlError.SqlError, SqlClient.SqlClient> = Layer.effectDiscard(
  Effect.flatMap(SqlClient.SqlClient, warn)
)

export const layer = (
  options: PostgresOptions
): Layer.Layer<SqlClient.SqlClient | SqlNotify, SqlError.SqlError> =>
  Layer.merge(notify, durability).pipe(Layer.provideMerge(PgClient.layer(settings(options))))
