/**
 * What an erasure leaves beside the rows of a database: pages, indexes and a log that still have the bytes of what was erased, and
 * statistics with common values.
 */
import { Context, Effect } from "effect"
import type { Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { StoreError } from "../../../services/StoreError.ts"
import { reasonOf } from "./SqlFailure.ts"

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
