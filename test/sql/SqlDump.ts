/**
 * A small database as SQL text: the statements of all migrations, and the rows of its tables.
 */
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"

/** The line between the statements of a dump. */
const separator = "----"

/** What the Migrator makes itself, in the schema that is made before. */
const list = `CREATE TABLE troupe.migrations (
  migration_id integer primary key,
  created_at timestamp with time zone not null default now(),
  name text not null
)`

/** Migrates the empty database, and gives the text of each statement that a migration ran. */
export const migrate = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const statements: Array<string> = []
  const recording = new Proxy(sql, {
    get: (target, key) =>
      key === "unsafe"
        ? (text: string, params?: ReadonlyArray<unknown>) => {
            if (/^(CREATE|ALTER|DROP|UPDATE|INSERT|DELETE)/.test(text)) statements.push(text)
            if (text === "CREATE SCHEMA troupe") statements.push(list)
            return target.unsafe(text, params)
          }
        : Reflect.get(target, key)
  })
  yield* Effect.provideService(Migrations.run, SqlClient.SqlClient, recording)
  return statements
})

/** The rows of each table as INSERTs, and where its sequences are. */
export const rows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const statements: Array<string> = []
  const tables = yield* sql.unsafe<{
    readonly name: string
    readonly columns: string
    readonly values: string
  }>(
    `SELECT c.oid::regclass::text AS name, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns,
       string_agg(format('quote_nullable(%I::text)', a.attname), ', ' ORDER BY a.attnum) AS values
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       AND a.attgenerated = ''
     WHERE c.relkind = 'r' AND c.relnamespace = 'troupe'::regnamespace
     GROUP BY c.oid ORDER BY 1`
  )
  for (const { columns, name, values } of tables) {
    const found = yield* sql.unsafe<{ readonly row: string }>(
      `SELECT concat_ws(', ', ${values}) AS row FROM ${name} ORDER BY 1`
    )
    for (const { row } of found) {
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
  return statements
})

/** Its text, without a line break at the end. */
export const textOf = (statements: ReadonlyArray<string>): string =>
  `${statements.join(`;\n${separator}\n`)};`

/** Executes a dump in an empty database. */
export const load = Effect.fnUntraced(function* (path: string) {
  const sql = yield* SqlClient.SqlClient
  const text = readFileSync(path, "utf8")
  for (const statement of text.trim().replace(/;$/, "").split(`;\n${separator}\n`)) {
    yield* sql.unsafe(statement)
  }
})
