/** The file that shows the schema of now says what the migrations make. */
import { assert, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as EmptyPglite from "./EmptyPglite.ts"

interface Table {
  readonly name: string
  readonly columns: string
  readonly constraints: string | null
  readonly beside: string | null
}

/** Tables in the order of their names, each with its columns in their order, and what belongs to it. */
const tables = `SELECT c.relname AS name,
  (SELECT string_agg(format('  %I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
      CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
      coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), CASE WHEN a.attidentity <> '' THEN ' GENERATED AS IDENTITY' END, '')),
    E',\\n' ORDER BY a.attnum)
    FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
  (SELECT string_agg('  ' || pg_get_constraintdef(k.oid), E',\\n' ORDER BY k.contype DESC, k.conname)
    FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype <> 'n') AS constraints,
  (SELECT string_agg(b.text || ';', E'\\n' ORDER BY b.kind, b.text) FROM (
    SELECT 1, pg_get_indexdef(i.indexrelid) FROM pg_index i
      WHERE i.indrelid = c.oid AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = c.oid)
    UNION ALL
    SELECT 2, pg_get_triggerdef(t.oid) FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal
    UNION ALL
    SELECT 3, format('CREATE POLICY %I ON troupe.%I FOR %s USING (%s)', p.policyname, p.tablename, p.cmd, p.qual)
      FROM pg_policies p WHERE p.schemaname = 'troupe' AND p.tablename = c.relname) AS b(kind, text)) AS beside
FROM pg_class c WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind = 'r' ORDER BY c.relname`

const views = `SELECT format(E'CREATE VIEW troupe.%I AS\\n%s', c.relname, pg_get_viewdef(c.oid)) AS text
FROM pg_class c WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind = 'v' ORDER BY c.relname`

const functions = `SELECT pg_get_functiondef(p.oid) || ';' AS text
FROM pg_proc p WHERE p.pronamespace = 'troupe'::regnamespace AND p.prokind = 'f' ORDER BY p.proname, p.oid`

const head = `-- The schema as the migrations leave it, to be read: what the functions say now, each table with its indexes, triggers and
-- policies. Nothing runs this file. test/sql/Schema.test.ts compares it with a new database, and writes it anew after a migration:
-- npx vitest run --update --config test/vitest.config.ts test/sql/Schema.test.ts
`

const tableText = ({ beside, columns, constraints, name }: Table): string => {
  const members = [columns, ...(constraints === null ? [] : [constraints])].join(",\n")
  return `CREATE TABLE troupe.${name} (\n${members}\n);\n${beside === null ? "" : `${beside}\n`}`
}

it.effect("layers/sql/schema.sql is the schema of a new database", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const found = yield* sql.unsafe<Table>(tables)
    const rest = [
      ...(yield* sql.unsafe<{ readonly text: string }>(views)),
      ...(yield* sql.unsafe<{ readonly text: string }>(functions))
    ].map(({ text }) => `${text}\n`)
    assert.isAbove(found.length, 40)
    const text = [head, ...found.map(tableText), ...rest].join("\n")
    yield* Effect.promise(() => expect(text).toMatchFileSnapshot("../../layers/sql/schema.sql"))
  }).pipe(Effect.provide(EmptyPglite.migratedLayer))
)
