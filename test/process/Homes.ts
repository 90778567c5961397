/**
 * Where a worker keeps what it knows: a new place each time, on either engine, gone when the scope closes.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import type { Scope } from "effect"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { either } from "../Long.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as EmptyPglite from "../sql/EmptyPglite.ts"
import type { Store } from "./Plan.ts"

export const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "troupe-process-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** The files below a directory that have a text in their bytes. */
export const holding = (directory: string, text: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => {
    const path = join(directory, name)
    return statSync(path).isFile() && readFileSync(path).includes(text)
  })

export type Home = Effect.Effect<Store, unknown, Scope.Scope>

/** A directory with an empty database. */
export const directory: Effect.Effect<{ readonly directory: string }, unknown, Scope.Scope> =
  Effect.gen(function* () {
    const from = yield* EmptyPglite.template
    const path = join(yield* temporary, "db")
    cpSync(from, path, { recursive: true })
    return { directory: path }
  })

/** A database of the run's server. */
export const database: Home = Effect.map(EmbeddedPostgres.migrated, (postgres) => ({ postgres }))

export const both: ReadonlyArray<readonly [engine: string, home: Home]> = [
  ["PostgreSQL", database],
  ["PGlite", directory]
]

/** Those of the form that runs: on PGlite each start costs several times as much. */
export const some = both.slice(0, either(1, 2))

/** The last of these. */
export const durable: Home = some.at(-1)![1]

export const storesOf = (store: Store) =>
  "directory" in store
    ? Stores.directory(store.directory)
    : Stores.postgres(Redacted.make(store.postgres))

/** Ends every session of a database from the server's side, as a network that breaks does. */
export const cut = (url: string) =>
  Effect.flatMap(PgClient.PgClient, (sql) =>
    sql.unsafe(`SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`)
  ).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })),
    Effect.asVoid
  )
