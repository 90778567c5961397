/**
 * Searches every column of every table for a subject's text, among the rows of a tenant, and gives the number of rows with it for
 * each table. Private to this room.
 */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { FoundRows } from "../../../services/MemoryStore.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { soughtBytes, soughtTexts } from "../../../src/erasure/SubjectEraser.ts"
import { rowWords } from "../../../src/memory/SearchWords.ts"
import { wordsOf } from "../../../src/memory/Trigram.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { forEachPiece, inPiece } from "./TablePieces.ts"

/** The most rows of a table that are counted. */
const counted_max = 1_000

/** Lists the tables with their columns that may contain text: not numbers, booleans, times or dropped columns. */
const tables_statement = `SELECT c.relname::text AS name,
    coalesce(array_agg(a.attname::text ORDER BY a.attnum) FILTER (
      WHERE t.typcategory NOT IN ('N', 'B', 'D', 'T') AND t.typname <> 'bytea'), '{}') AS texts,
    coalesce(array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE t.typname = 'bytea'), '{}') AS bytes,
    coalesce(bool_or(a.attname = 'tenant'), false) AS of_tenant,
    coalesce(bool_or(a.attname = 'run_id'), false) AS of_run
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid
  WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind IN ('r', 'p')
  GROUP BY c.oid, c.relname ORDER BY 1`

const Table = Schema.Struct({
  name: Schema.String,
  texts: Schema.Array(Schema.String),
  bytes: Schema.Array(Schema.String),
  of_tenant: Schema.Boolean,
  of_run: Schema.Boolean
})
type Table = typeof Table.Type

const decodeTables = rowDecoder(Table, "tables")
const decodeCounts = rowDecoder(Schema.Struct({ rows: Schema.Int }), "counts of rows")

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** The condition for the tenant's rows. A table that belongs to no tenant is searched as a whole. */
const whose = ({ name, of_run, of_tenant }: Table): string => {
  // The tenant column comes first, because a row with a tenant may have no run.
  if (of_tenant) return "t.tenant = $1::text"
  if (of_run) return "t.run_id IN (SELECT r.run_id FROM troupe.runs r WHERE r.tenant = $1::text)"
  return name === "memory_words"
    ? "t.scope IN (SELECT s.id FROM troupe.memory_scopes s WHERE s.tenant = $1::text)"
    : "$1::text IS NOT NULL"
}

/**
 * Words of the subject in the index of words that are left over from a deleted text: each word of a text has a row of its own.
 */
const left_over = `(t.word = ANY ($6::text[])
  AND NOT EXISTS (SELECT FROM troupe.memory_rows r WHERE r.position = t.position))`

/**
 * The statement that counts a table's rows with the subject, in one piece of the table. Both sides are converted to lower case
 * with one collation, because a column may have another one, which converts other letters.
 */
const countStatement = (table: Table): string => {
  const said = table.texts.map((column) => `t.${quoted(column)}::text`)
  const isFound = [
    `EXISTS (SELECT FROM unnest($2::text[]) w WHERE strpos(s.said, lower(w)) > 0)`,
    ...table.bytes.map(
      (column) =>
        `EXISTS (SELECT FROM unnest($3::text[]) w WHERE position(convert_to(w, 'UTF8') IN t.${quoted(column)}) > 0)`
    ),
    table.name === "memory_words" ? left_over : "false"
  ]
  return `SELECT count(*)::int4 AS rows FROM (
    SELECT FROM troupe.${quoted(table.name)} t CROSS JOIN LATERAL (
      SELECT replace(lower(concat_ws(E'\\n', ${["NULL", ...said].join(", ")}) COLLATE "default"), E'\\\\', '') AS said OFFSET 0) s
    WHERE ${inPiece(4, 5)} AND ${whose(table)}
      AND $3::text[] IS NOT NULL AND $6::text[] IS NOT NULL AND (${isFound.join(" OR ")})
    LIMIT ${counted_max}) f`
}

/** The name of the table in the report. Events are reported under `run_events`, the view with one row for each. */
const reported = ({ name }: Table): string => (name === "run_pairs" ? "run_events" : name)

export const scanTables = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  subject: string
) {
  const texts = soughtTexts(subject)
  const bytes = soughtBytes(subject)
  // As the index has them now, and as it had them before it left out accents.
  const words = [...new Set([...rowWords(subject), ...wordsOf(subject.normalize())])]
  const tables = yield* Effect.flatMap(sql.unsafe(tables_statement), decodeTables)
  const found: Array<FoundRows> = []
  for (const table of tables) {
    const statement = countStatement(table)
    let rows = 0
    yield* forEachPiece(
      sql,
      table.name,
      Effect.fnUntraced(function* ({ from, to }) {
        const params = [tenant, texts, bytes, from, to, words]
        const [count] = yield* Effect.flatMap(sql.unsafe(statement, params), decodeCounts)
        rows += count?.rows ?? 0
        return rows < counted_max ? undefined : "enough"
      })
    )
    found.push({ table: reported(table), rows: Math.min(rows, counted_max) })
  }
  return found
})
