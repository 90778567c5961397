/**
 * PostgreSQL within this process: a SqlClient over PGlite, in memory or in a directory whose data survives a kill -9.
 */
import { join } from "node:path"
import { PGlite, types } from "@electric-sql/pglite"
import type { Extensions, PGliteOptions } from "@electric-sql/pglite"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Semaphore, Stream } from "effect"
import type { Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, SqlError } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import * as DirectoryLock from "./DirectoryLock.ts"
import * as DirectorySession from "./DirectorySession.ts"
import { EngineFiles, makeGhost, openable } from "./EngineFiles.ts"
import * as EngineWatchdog from "./EngineWatchdog.ts"
import { ErasedBytes } from "./ErasedBytes.ts"
import * as ErasedFiles from "./ErasedBytes.ts"
import * as MeteredConnections from "./MeteredConnections.ts"
import * as PgliteUpkeep from "./PgliteUpkeep.ts"
import { StoreSpace } from "../../../services/StoreSpace.ts"
import * as DirectorySpace from "./DirectorySpace.ts"
import { committed } from "./SqlFailure.ts"
import { SqlNotify } from "./SqlNotify.ts"

export interface PgliteOptions {
  /** The directory of the database, created if it is missing. Absent = the database is in memory and lost at the end. */
  readonly directory?: string | undefined
  readonly extensions?: Extensions | undefined
  /** A dump from which a new database starts instead of an empty one. It is ignored where a database exists. */
  readonly load?: Blob | undefined
  /** Members that are absent are those of `upkeep_default`. */
  readonly upkeep?: Partial<PgliteUpkeep.Upkeep> | undefined
  /**
   * How long a statement on a directory may neither return nor use a file before the process is ended, in ms, at least 1,000.
   * Absent = 60,000.
   */
  readonly still_ms?: number | undefined
}

const stateOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined

const constraintOf = (error: unknown): string =>
  error instanceof Error && "constraint" in error && typeof error.constraint === "string"
    ? error.constraint
    : "unknown"

/** Classifies errors by SQLSTATE into the same classes as `@effect/sql-pg`, so that both engines fail alike. */
const reasonOf = (pg: PGlite, cause: unknown): SqlError.SqlErrorReason => {
  const state = stateOf(cause)
  const props = { cause, message: "PGlite refused the statement", operation: "query" }
  if (state === undefined) {
    return pg.closed ? new SqlError.ConnectionError(props) : new SqlError.UnknownError(props)
  }
  if (state.startsWith("08")) return new SqlError.ConnectionError(props)
  if (state.startsWith("28")) return new SqlError.AuthenticationError(props)
  if (state === "42501") return new SqlError.AuthorizationError(props)
  if (state.startsWith("42")) return new SqlError.SqlSyntaxError(props)
  if (state === "23505") {
    return new SqlError.UniqueViolation({ ...props, constraint: constraintOf(cause) })
  }
  if (state.startsWith("23")) return new SqlError.ConstraintError(props)
  if (state === "40P01") return new SqlError.DeadlockError(props)
  if (state === "40001") return new SqlError.SerializationError(props)
  if (state === "55P03") return new SqlError.LockTimeoutError(props)
  if (state === "57014") return new SqlError.StatementTimeoutError(props)
  return new SqlError.UnknownError(props)
}

const databaseOf = (directory: string): string => join(directory, DirectoryLock.database_directory)

type Row = Record<string, unknown>

/**
 * The only session. A statement cannot be interrupted: it runs on this thread, and if its caller gave it up, the next caller
 * would get its outcome.
 */
const connectionOf = (
  pg: PGlite,
  session: DirectorySession.Session,
  directory: string | undefined
) => {
  const failed = (cause: unknown) => {
    if (directory !== undefined) makeGhost(databaseOf(directory), cause)
    return new SqlError.SqlError({ reason: reasonOf(pg, cause) })
  }
  const run = (sql: string, params: ReadonlyArray<unknown>, rowMode: "object" | "array") =>
    Effect.uninterruptible(
      Effect.tryPromise({
        try: () => session.query<Row>(sql, params, rowMode),
        catch: failed
      })
    )
  const execute: SqlConnection.Connection["execute"] = (sql, params, transformRows) =>
    Effect.map(run(sql, params, "object"), ({ rows }) =>
      transformRows === undefined ? rows : transformRows(rows)
    )
  const values: SqlConnection.Connection["executeValues"] = (sql, params) =>
    Effect.map(run(sql, params, "array"), ({ rows }) => rows as unknown as Array<Array<unknown>>)
  const connection: SqlConnection.Connection = {
    execute,
    executeUnprepared: execute,
    executeRaw: (sql, params) => run(sql, params, "object"),
    executeValues: values,
    executeValuesUnprepared: values,
    executeStream: (sql, params, transformRows) =>
      Stream.fromIterableEffect(execute(sql, params, transformRows))
  }
  const commit = Effect.flatMap(run("COMMIT", [], "object"), ({ command }) => committed(command))
  return { connection, commit }
}

/**
 * Scans of whole tables are off: nothing analyses the tables of a PGlite, and its one session keeps the plans that it made first.
 * Plans made for nearly empty tables read all rows, and each append would take longer the more runs there are.
 *
 * Log files are reused rather than removed, within these sizes. The buffers are small, because they take memory of the process
 * whether they are used or not, and a page that is not in them is read from the system's cache at hardly more cost.
 *
 * Tables grow by bytes that are written, because the engine's other way, which reserves them, reserves nothing here: a full disk
 * would be met by the checkpoint, not by the statement.
 */
const settings_of_server = [
  "enable_seqscan=off",
  "min_wal_size=32MB",
  "max_wal_size=128MB",
  "shared_buffers=16MB",
  "file_extend_method=write_zeros"
]
const start_params = settings_of_server.flatMap((setting) => ["-c", setting])

const refusalOf = (directory: string | undefined): string =>
  directory === undefined
    ? "PGlite did not start"
    : `PGlite cannot open the database in ${directory}: its files are broken, or another version made them. ` +
      "Restore a backup, or use another directory"

/** The number of files that a database opens while its migrations run; an existing one needs a third less. */
const files_min = 160

/** Why a database in this directory cannot be opened; undefined if it can. */
const refusalToOpen = (directory: string): string | undefined => {
  const files = openable(files_min)
  return files < files_min
    ? // The database would report broken files, or abort a migration.
      `this process may open only ${files} more files, and its database needs ${files_min} (ulimit -n; 256 are enough)`
    : DirectoryLock.hasDatabase(directory)
      ? undefined
      : DirectorySpace.refusalToMake(directory)
}

/** The error of a database that was not opened. */
const unopened = (cause: unknown, directory: string | undefined) => {
  if (directory !== undefined) {
    const reason = DirectorySpace.refusalToOpen(directory)
    if (reason !== undefined) return new DirectoryLock.DirectoryUnusable({ directory, reason })
    const unreadable = DirectoryLock.unopenable(directory)
    if (unreadable !== undefined) return unreadable
  }
  const message = refusalOf(directory)
  return new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause, message, operation: "connect" })
  })
}

/** What a directory adds to an engine. */
interface Directory {
  readonly path: string
  readonly files: EngineFiles
  readonly space: DirectorySpace.DirectorySpace
  readonly watchdog: EngineWatchdog.EngineWatchdog
}

/** Locks a directory, and watches what an engine does there. */
const prepare = Effect.fnUntraced(function* (path: string, still_ms: number) {
  yield* DirectoryLock.acquire(path)
  const reason = refusalToOpen(path)
  if (reason !== undefined) {
    return yield* new DirectoryLock.DirectoryUnusable({ directory: path, reason })
  }
  const watchdog = yield* EngineWatchdog.start(still_ms)
  const space = DirectorySpace.make(path, databaseOf(path))
  const files = new EngineFiles(databaseOf(path), {
    used: watchdog.used,
    logs: space.logs,
    mayWrite: space.mayWrite,
    lost: () =>
      EngineWatchdog.endProcess(
        "the log of the embedded database cannot be written, because its disk is full or fails"
      )
  })
  return { path, files, space, watchdog } satisfies Directory
})

const settingsOf = (
  { extensions, load }: PgliteOptions,
  directory: Directory | undefined
): PGliteOptions => ({
  // int8 is a bigint, as it is with `@effect/sql-pg`.
  startParams: [...PGlite.defaultStartParams, ...start_params],
  parsers: { [types.INT8]: (value: string) => BigInt(value) },
  ...(directory === undefined ? undefined : { fs: directory.files }),
  ...(extensions === undefined ? undefined : { extensions }),
  ...(load === undefined ? undefined : { loadDataDir: load })
})

const open = (
  options: PgliteOptions,
  directory: Directory | undefined
): Effect.Effect<PGlite, DirectoryLock.DirectoryUnusable | SqlError.SqlError, Scope.Scope> => {
  const settings = settingsOf(options, directory)
  const opened = Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const pg = await PGlite.create(settings)
        directory?.space.started()
        return pg
      },
      catch: (cause) => unopened(cause, directory?.path)
    }),
    (pg) => Effect.ignoreCause(Effect.promise(() => pg.close()))
  )
  return directory === undefined
    ? opened
    : Effect.tap(opened, DirectoryLock.harden(databaseOf(directory.path)))
}

const sessionOf = (pg: PGlite, directory: Directory | undefined): DirectorySession.Session =>
  directory === undefined
    ? { query: (sql, params, rowMode) => pg.query(sql, [...params], { rowMode }) }
    : DirectorySession.make(pg, directory.space, directory.watchdog)

const make = (options: PgliteOptions) =>
  Effect.gen(function* () {
    const directory =
      options.directory === undefined
        ? undefined
        : yield* prepare(options.directory, options.still_ms ?? EngineWatchdog.still_ms_default)
    const pg = yield* open(options, directory)
    const { commit, connection } = connectionOf(pg, sessionOf(pg, directory), options.directory)
    // There is one session: while a transaction is open, everyone else waits, because their statements would become part of it.
    const one = yield* Semaphore.make(1)
    const metered = yield* MeteredConnections.make(1)
    const lease = metered.lease(Effect.as(one.takeScoped(1), connection))
    const client = yield* SqlClient.make({
      driver: "pglite",
      acquirer: lease,
      transactionAcquirer: lease,
      borrower: metered.borrower((use) => one.withPermit(Effect.suspend(() => use(connection)))),
      commit: () => commit,
      compiler: PgClient.makeCompiler(),
      releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
      spanAttributes: [["db.system.name", "postgresql"]]
    })
    const erased =
      directory === undefined
        ? undefined
        : ErasedFiles.make(client, directory.space, directory.path)
    yield* PgliteUpkeep.start(
      client,
      directory?.space,
      erased?.resume ?? Effect.void,
      options.upkeep
    )
    const notify = SqlNotify.of({
      // LISTEN within an open transaction would take effect only at its commit.
      listen: (channel, callback) =>
        Effect.asVoid(
          Effect.acquireRelease(
            one.withPermit(
              Effect.tryPromise({
                try: () => pg.listen(channel, callback),
                catch: (cause) => new SqlError.SqlError({ reason: reasonOf(pg, cause) })
              })
            ),
            (unlisten) =>
              one.withPermit(
                Effect.ignoreCause(pg.closed ? Effect.void : Effect.promise(() => unlisten()))
              )
          )
        )
    })
    const context = Context.make(SqlClient.SqlClient, client).pipe(Context.add(SqlNotify, notify))
    return directory === undefined || erased === undefined
      ? context
      : Context.add(Context.add(context, StoreSpace, directory.space), ErasedBytes, erased)
  })

export const layer = (
  options: PgliteOptions = {}
): Layer.Layer<
  SqlClient.SqlClient | SqlNotify,
  DirectoryLock.DirectoryInUse | DirectoryLock.DirectoryUnusable | SqlError.SqlError
> => Layer.effectContext(make(options)).pipe(Layer.provide(Reactivity.layer))
