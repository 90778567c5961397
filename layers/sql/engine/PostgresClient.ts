/**
 * A client of a PostgreSQL server that may stand still: a statement that is not answered in time fails, whatever the server,
 * the network or a frozen disk does. The server's own limit does not help there, because it is the server that keeps it.
 */
import { PgClient, PgPool } from "@effect/sql-pg"
import type { PgConnection } from "@effect/sql-pg"
import { Effect, Fiber, identity, Scope, Stream } from "effect"
import type { Queue } from "effect"
import type { Reactivity } from "effect/reactivity"
import { SqlClient, SqlError } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import { AnswerUnlimited } from "./AnswerUnlimited.ts"
import { committed } from "./SqlFailure.ts"

export interface Client {
  readonly sql: SqlClient.SqlClient
  /** A connection of the pool that listens to a channel until its scope closes. */
  readonly listen: (
    channel: string
  ) => Effect.Effect<
    Queue.Dequeue<PgConnection.Notification, SqlError.SqlError>,
    SqlError.SqlError,
    Scope.Scope
  >
}

/** As a lost connection: whether the server did what it was told is not known. */
const unanswered = (answer_ms: number) =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({
      cause: new Error(`no answer within ${answer_ms} ms`),
      message: `PostgreSQL did not answer within ${answer_ms} ms`,
      operation: "query"
    })
  })

type Bound = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>

/** How long a statement may go unanswered while none is answered, in ms. */
const still_ms = 1_000

/** What is known of the server: it stands still from a statement that was not answered until the next one that is. */
interface Server {
  isStill: boolean
}

/**
 * A statement that is given up gives its connection up too, if that does not end it within 10 s. Once one was, the others wait
 * for a moment only: a stop runs several, one after the other.
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
      // Also where the caller cannot be interrupted, such as in a COMMIT or at the end of a scope.
      unlimited
        ? self
        : Effect.timeoutOrElse(Effect.interruptible(self), server.isStill ? still : usual)
    )
}

/** Told of each statement that fails. */
type Noticed = (error: SqlError.SqlError) => Effect.Effect<void>

/** `limit` bounds each statement, or does nothing where whoever borrowed the connection is bounded with it. */
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
    // Read whole: a stream may rest for as long as its reader does.
    executeStream: (sql, params, transformRows) =>
      Stream.fromIterableEffect(execute(sql, params, transformRows))
  }
}

const commit = (connection: SqlConnection.Connection) =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) =>
    committed((result as PgConnection.Result).command)
  )

/** What waits for a connection of the pool, and then for the answer to its statement, waits at most `answer_ms` in all. */
export const make = Effect.fnUntraced(function* (
  settings: PgPool.Config,
  answer_ms: number,
  noticed: Noticed
): Effect.fn.Return<Client, SqlError.SqlError, Scope.Scope | Reactivity.Reactivity> {
  const pool = yield* PgPool.make(settings)
  const server: Server = { isStill: false }
  const inTime = bound(answer_ms, server)
  const unbounded: Bound = (self) => self
  const leased = (from: Effect.Effect<PgConnection.PgConnection, SqlError.SqlError, Scope.Scope>) =>
    Effect.map(inTime(from), (connection) => connectionOf(connection, inTime, noticed, server))
  const borrower: SqlConnection.Borrower = (use) =>
    inTime(pool.use((connection) => use(connectionOf(connection, unbounded, noticed, server))))
  const sql = yield* SqlClient.make({
    driver: "pg",
    acquirer: leased(pool.get),
    transactionAcquirer: leased(pool.reserve),
    borrower,
    commit,
    compiler: PgClient.makeCompiler(),
    prepareTransactionControls: true,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "postgresql"]]
  })
  return {
    sql,
    listen: Effect.fnUntraced(function* (channel) {
      const connection = yield* inTime(pool.reserve)
      // The driver tells the server at the end that it no longer listens, and waits for its answer.
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
