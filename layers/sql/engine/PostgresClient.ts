/**
 * A client that copes with a PostgreSQL server that stops responding: a statement without an answer in time fails, whether the
 * server, the network or a frozen disk is the cause. The server's own limit does not help then, because the server enforces it.
 */
import { PgClient, PgPool } from "@effect/sql-pg"
import type { PgConnection } from "@effect/sql-pg"
import { Effect, Fiber, identity, Scope, Stream } from "effect"
import type { Queue } from "effect"
import type { Reactivity } from "effect/reactivity"
import { SqlClient, SqlError } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import { AnswerUnlimited } from "./Upgrading.ts"
import * as MeteredConnections from "./MeteredConnections.ts"
import * as Pooler from "./Pooler.ts"
import type { PoolerUnusable } from "./PoolerUnusable.ts"
import type { Reader, ServerSession } from "./ServerSession.ts"
import { committed } from "./SqlFailure.ts"

export interface Client {
  readonly sql: SqlClient.SqlClient
  readonly session: ServerSession
  /** A connection of the pool that listens to a channel until its scope closes. */
  readonly listen: (
    channel: string
  ) => Effect.Effect<
    Queue.Dequeue<PgConnection.Notification, SqlError.SqlError>,
    SqlError.SqlError,
    Scope.Scope
  >
}

/** A lost connection: it is unknown whether the server executed the statement. */
const unanswered = (answer_ms: number) =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({
      cause: new Error(`no answer within ${answer_ms} ms`),
      message: `PostgreSQL did not answer within ${answer_ms} ms`,
      operation: "query"
    })
  })

type Bound = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>

/** How long a statement may go unanswered while the server does not respond, in ms. */
const still_ms = 1_000

/** `isStill` is true from a statement that was not answered in time until the next one that is answered. */
interface Server {
  isStill: boolean
}

/**
 * Limits the time of statements. If giving up a statement does not end it within 10 s, its connection is given up too. After one
 * was given up, the others wait only `still_ms`, because a shutdown runs several statements one after the other.
 */
const bound = (answer_ms: number, server: Server): Bound => {
  const late = (duration: number) => ({
    duration,
    orElse: () =>
      Effect.suspend(() => {
        server.isStill = true
        return Effect.fail(unanswered(duration))
      })
  })
  const usual = late(answer_ms)
  const still = late(Math.min(answer_ms, still_ms))
  return (self) =>
    Effect.flatMap(AnswerUnlimited, (unlimited) =>
      // The statement is interruptible even where its caller is not, such as in a COMMIT or when a scope closes.
      unlimited
        ? self
        : Effect.timeoutOrElse(Effect.interruptible(self), server.isStill ? still : usual)
    )
}

/** Called for each statement that fails. */
type Noticed = (error: SqlError.SqlError) => Effect.Effect<void>

/**
 * A connection whose statements are limited by `limit`. It does nothing where the borrower of the connection is limited as a
 * whole.
 */
const connectionOf = (
  to: PgConnection.PgConnection,
  limit: Bound,
  noticed: Noticed,
  server: Server
): SqlConnection.Connection => {
  const pass = <A, B>(self: Effect.Effect<A, SqlError.SqlError>, read: (answer: A) => B) =>
    Effect.map(Effect.tapError(limit(self), noticed), (answer) => {
      server.isStill = false
      return read(answer)
    })
  const rows =
    (prepare: boolean): SqlConnection.Connection["execute"] =>
    (sql, params, transformRows) =>
      pass(to.query(sql, params, prepare), ({ rows }) =>
        transformRows === undefined ? rows : transformRows(rows)
      )
  const execute = rows(true)
  return {
    execute,
    executeUnprepared: rows(false),
    executeRaw: (sql, params) => pass(to.query(sql, params), identity),
    executeValues: (sql, params) => pass(to.queryValues(sql, params), identity),
    executeValuesUnprepared: (sql, params) => pass(to.queryValues(sql, params, false), identity),
    // The rows are read at once, because a stream may pause for as long as its reader does.
    executeStream: (sql, params, transformRows) =>
      Stream.fromIterableEffect(execute(sql, params, transformRows))
  }
}

const commit = (connection: SqlConnection.Connection) =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) =>
    committed((result as PgConnection.Result).command)
  )

const setConfig = (names: ReadonlyArray<string>): string =>
  `SELECT ${names.map((name, at) => `set_config('${name}', $${at + 1}, false)`).join(", ")}`

const setReader = setConfig(["role", "troupe.tenant"])

/**
 * Gives a function that makes a session what its borrower needs: the settings before its first use, and the role and tenant that it
 * reads for, or the role that connects. The settings are no start-up parameters, because a pooler refuses or drops those.
 */
const preparing = ({ isPooled, settings }: ServerSession) => {
  const set = setConfig(Object.keys(settings))
  const values = Object.values(settings)
  /** For whom each session reads. Undefined = nobody knows, since a change of it was not answered. */
  const readers = new WeakMap<PgConnection.PgConnection, Reader | "engine" | undefined>()
  const become = Effect.fnUntraced(function* (
    connection: PgConnection.PgConnection,
    wanted: Reader | "engine"
  ) {
    if (!readers.has(connection)) {
      yield* connection.query(set, values, false)
      // A pooler may not have reset a session that was another's.
      readers.set(connection, isPooled ? undefined : "engine")
      if (readers.get(connection) === wanted) return
    }
    readers.set(connection, undefined)
    yield* wanted === "engine"
      ? connection.query("RESET ROLE")
      : connection.query(setReader, [wanted.role, wanted.tenant])
    readers.set(connection, wanted)
  })
  return (connection: PgConnection.PgConnection, wanted: Reader | "engine") => {
    const is = readers.get(connection)
    const isSame =
      is === wanted ||
      (is !== undefined &&
        is !== "engine" &&
        wanted !== "engine" &&
        is.role === wanted.role &&
        is.tenant === wanted.tenant)
    return isSame ? Effect.void : become(connection, wanted)
  }
}

/** What an engine uses: sessions that listen, one that holds locks, those of bodies (`SqlRunJournal.ts`), and some for statements. */
const engine_connections = 13

/** How many of the connections are for reads on behalf of principals, so that few sessions change their role. */
const readersOf = (connections_max: number): number =>
  Math.max(0, Math.min(Math.floor(connections_max / 4), connections_max - engine_connections))

/** Where the client connects, and the settings of its sessions. */
export interface Options {
  readonly pool: PgPool.Config & { readonly maxConnections: number }
  readonly settings: ServerSession["settings"]
  readonly answer_ms: number
}

/** Makes the client. A borrower waits at most `answer_ms` in all for a connection of the pool and for the answer. */
export const make = Effect.fnUntraced(function* (
  { answer_ms, pool: config, settings }: Options,
  noticed: Noticed
): Effect.fn.Return<
  Client,
  SqlError.SqlError | PoolerUnusable,
  Scope.Scope | Reactivity.Reactivity
> {
  const readers = readersOf(config.maxConnections)
  const pool = yield* PgPool.make({ ...config, maxConnections: config.maxConnections - readers })
  const readerPool =
    readers === 0 ? pool : yield* PgPool.make({ ...config, maxConnections: readers })
  const metered = yield* MeteredConnections.make(config.maxConnections)
  const server: Server = { isStill: false }
  const inTime = bound(answer_ms, server)
  const unbounded: Bound = (self) => self
  const isPooled = yield* Pooler.find(pool, answer_ms, inTime)
  const prepare = preparing({ isPooled, settings })
  const get = Effect.tap(pool.get, (connection) => prepare(connection, "engine"))
  const reserve = Effect.flatMap(get, ({ pin }) => pin)
  const leased = (from: Effect.Effect<PgConnection.PgConnection, SqlError.SqlError, Scope.Scope>) =>
    Effect.map(metered.lease(inTime(from)), (connection) =>
      connectionOf(connection, inTime, noticed, server)
    )
  const sql = yield* SqlClient.make({
    driver: "pg",
    acquirer: leased(get),
    transactionAcquirer: leased(reserve),
    borrower: metered.borrower((use) =>
      inTime(
        pool.use((connection) =>
          Effect.andThen(
            prepare(connection, "engine"),
            use(connectionOf(connection, unbounded, noticed, server))
          )
        )
      )
    ),
    commit,
    compiler: PgClient.makeCompiler(),
    prepareTransactionControls: true,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "postgresql"]]
  })
  return {
    sql,
    session: {
      isPooled,
      settings,
      readAs: (who) => (read) =>
        Effect.scoped(
          Effect.flatMap(
            leased(Effect.tap(readerPool.get, (connection) => prepare(connection, who))),
            (connection) => Effect.provideService(read, sql.transactionService, [connection, 0])
          )
        )
    },
    listen: Effect.fnUntraced(function* (channel) {
      const connection = yield* metered.lease(inTime(reserve))
      // When the scope closes, the driver tells the server that it no longer listens, and waits for the answer.
      const session = yield* Effect.acquireRelease(Scope.make(), (session, exit) =>
        Effect.gen(function* () {
          const closing = yield* Effect.forkDetach(Scope.close(session, exit))
          yield* Effect.ignoreCause(inTime(Fiber.await(closing)))
        })
      )
      return yield* inTime(Scope.provide(connection.listen(channel), session))
    })
  }
})
