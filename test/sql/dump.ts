/**
 * Prints a small database as SQL text: the statements of all migrations and the rows of a runtime that stopped while a
 * run waited for a person. Run it once for each migration that is released, and keep the text beside this file:
 *
 *   node test/sql/dump.ts > test/sql/0001_schema.sql
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import * as H from "../runtime/Harness.ts"
import * as Waiting from "./Waiting.ts"

const statements: Array<string> = []

/** What the Migrator makes itself, in the schema that is made before. */
const list = `CREATE TABLE troupe_new.migrations (
  migration_id integer primary key,
  created_at timestamp with time zone not null default now(),
  name text not null
)`

/** Migrates, and keeps the text of each statement that a migration ran. */
const migrate = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const recording = new Proxy(sql, {
    get: (target, key) =>
      key === "unsafe"
        ? (text: string, params?: ReadonlyArray<unknown>) => {
            if (/^(CREATE|ALTER|DROP|UPDATE|INSERT|DELETE)/.test(text)) statements.push(text)
            if (text === "CREATE SCHEMA troupe_new") statements.push(list)
            return target.unsafe(text, params)
          }
        : Reflect.get(target, key)
  })
  yield* Effect.provideService(Migrations.run, SqlClient.SqlClient, recording)
})

/** The rows of each table as INSERTs, and where its sequences are. */
const dumpRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql.unsafe<{
    readonly name: string
    readonly columns: string
    readonly values: string
  }>(
    `SELECT c.oid::regclass::text AS name, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns,
       string_agg(format('quote_nullable(%I::text)', a.attname), ', ' ORDER BY a.attnum) AS values
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relkind = 'r' AND c.relnamespace = 'troupe'::regnamespace
     GROUP BY c.oid ORDER BY 1`
  )
  for (const { columns, name, values } of tables) {
    const rows = yield* sql.unsafe<{ readonly row: string }>(
      `SELECT concat_ws(', ', ${values}) AS row FROM ${name} ORDER BY 1`
    )
    for (const { row } of rows) {
      statements.push(`INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE\nVALUES (${row})`)
    }
  }
  const sequences = yield* sql.unsafe<{ readonly name: string; readonly last: number | null }>(
    `SELECT schemaname || '.' || sequencename AS name, last_value::int4 AS last FROM pg_sequences
     WHERE schemaname = 'troupe' ORDER BY 1`
  )
  for (const { last, name } of sequences) {
    if (last !== null) statements.push(`SELECT setval('${name}', ${last})::text`)
  }
})

const waits = Effect.scoped(
  Effect.gen(function* () {
    const process = yield* H.boot(Waiting.options)
    yield* process.run(Waiting.sent)
    yield* process.stop
  })
).pipe(Effect.provide(Waiting.stores))

const dump = Effect.gen(function* () {
  yield* migrate
  yield* waits
  yield* dumpRows
  yield* Effect.sync(() => console.log(`${statements.join(`;\n${Waiting.separator}\n`)};`))
})

await Effect.runPromise(Effect.scoped(Effect.provide(dump, Layer.fresh(Pglite.layer()))))
