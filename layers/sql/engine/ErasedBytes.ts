/**
 * What an erasure leaves beside the rows of a database: pages, indexes and a log that still have the bytes of what was erased, and
 * statistics with common values.
 */
import { Context, Effect, Schema, Semaphore } from "effect"
import type { Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { reasonOf } from "./SqlFailure.ts"
import { existsSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { SqlSchema } from "effect/sql"
import { StoreError } from "../../../services/StoreError.ts"
import type { DirectorySpace } from "./DirectorySpace.ts"
import { pause } from "./PgliteUpkeep.ts"

export interface ErasedBytes {
  /** To be run before rows are erased. The erasure is under way until the scope closes. */
  readonly begin: Effect.Effect<void, StoreError, Scope.Scope>
  /** Removes what can be removed from here, and says for a person where the bytes may still be. */
  readonly remove: Effect.Effect<ReadonlyArray<string>>
}

/** What no store reaches. */
export const outside =
  "backups, archives, logs, traces, and blocks of the disk that no file uses any more"

/** For a database in memory. */
export const ErasedBytes = Context.Reference<ErasedBytes>("troupe/sql/ErasedBytes", {
  defaultValue: () => ({ begin: Effect.void, remove: Effect.succeed([outside]) })
})

const unused =
  "the files of PostgreSQL, where their space was not used again yet: pages, indexes, the log; replicas as well " +
  "(VACUUM FULL of the tables of the schema troupe rewrites the first two)"

const tables = `SELECT oid::regclass::text AS name FROM pg_class
  WHERE relnamespace = 'troupe'::regnamespace AND relkind = 'r' ORDER BY relpages`

/**
 * An analysis of a table without rows changes nothing. PostgreSQL 18 is the first that forgets on request. Each column is named,
 * also those of indexes, because the view of what is known can take 0.3 s to read.
 */
const clear = `SELECT pg_clear_attribute_stats('troupe', c.relname::text, a.attname::text, false)::text
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind IN ('r', 'i') AND c.reltuples = 0`

/** Gives nothing where it succeeds; otherwise a sentence. */
const orSentence = <A>(self: Effect.Effect<A, SqlError.SqlError>, what: string) =>
  Effect.match(self, {
    onFailure: (error) => [`${what} (${reasonOf(error)})`],
    onSuccess: () => []
  })

/**
 * For a server. A vacuum frees the rows, and the statistics of the planner, which keep common values as they are, are made anew.
 * Its files are left to an operator: to rewrite them takes locks that stop the service.
 */
export const onServer = (sql: SqlClient.SqlClient): ErasedBytes => ({
  begin: Effect.void,
  remove: Effect.gen(function* () {
    const vacuum = Effect.flatMap(
      sql.unsafe<{ readonly name: string }>(tables),
      Effect.forEach(({ name }) => sql.unsafe(`VACUUM (ANALYZE) ${name}`), { discard: true })
    )
    return [
      ...(yield* orSentence(vacuum, "rows and statistics until the server vacuums its tables")),
      ...(yield* orSentence(sql.unsafe(clear), "statistics of tables that have become empty")),
      unused,
      outside
    ]
  })
})

/** The name of the file in the directory of a store while bytes of erased texts may be in its database. */
export const marker = "erased"

/** Between two tables, in ms: what waits for the thread gets it, and what waits for the session has its turn. */
const breath_ms = 5

export interface ErasedFiles extends ErasedBytes {
  /** Does what is left to be done, unless an erasure is under way. Fails with why it cannot. */
  readonly resume: Effect.Effect<void, StoreError>
}

const refused = (message: string) => new StoreError({ message })

export const make = (
  sql: SqlClient.SqlClient,
  space: DirectorySpace,
  directory: string
): ErasedFiles => {
  const path = join(directory, marker)
  const one = Semaphore.makeUnsafe(1)
  let running = 0
  /** The tables that were rewritten since the last erasure changed something. */
  let done = new Set<string>()

  const tables = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ name: Schema.String, bytes: Schema.Number }),
    execute: () =>
      sql`SELECT c.oid::regclass::text AS name, pg_total_relation_size(c.oid)::float8 AS bytes FROM pg_class c
        WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind = 'r' ORDER BY bytes, name`
  })

  const rewrite = Effect.gen(function* () {
    const own = done
    for (const { bytes, name } of yield* tables()) {
      if (own.has(name)) continue
      // The new file and its log are there before the old file is gone.
      const full = space.refusal() ?? space.tooLarge(bytes)
      if (full !== undefined) return yield* refused(full)
      yield* sql.unsafe(`VACUUM FULL ${name}`)
      own.add(name)
      yield* pause(breath_ms)
    }
    // The log goes on in a file of zeros; then the files before it are removed, or kept for later with what is in them.
    space.clearLog()
    yield* sql.unsafe("CHECKPOINT")
    yield* sql.unsafe("SELECT pg_switch_wal()")
    yield* sql.unsafe("CHECKPOINT")
    space.clearLog()
    if (own === done && running === 0) rmSync(path, { force: true })
  }).pipe(
    Effect.catch((error) => refused(error instanceof StoreError ? error.message : reasonOf(error))),
    one.withPermit
  )

  return {
    begin: Effect.acquireRelease(
      Effect.try({
        try: () => {
          writeFileSync(path, "", { mode: 0o600 })
          running++
        },
        catch: () => refused("the directory of the store cannot be written")
      }),
      () =>
        Effect.sync(() => {
          running--
          done = new Set()
        })
    ),
    remove: Effect.match(rewrite, {
      onFailure: ({ message }) => [
        `the files of the database, which could not be rewritten (${message}): the process tries again`,
        outside
      ],
      onSuccess: () => [outside]
    }),
    resume: Effect.suspend(() => (running > 0 || !existsSync(path) ? Effect.void : rewrite))
  }
}
