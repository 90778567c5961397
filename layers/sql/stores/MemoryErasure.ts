/**
 * Erases a subject from the memories of a tenant in SQL, and then looks for it in every table.
 */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { Erasure } from "../../../services/MemoryStore.ts"
import { page_max } from "../../../services/MemoryStore.ts"
import type { Tenant } from "../../../src/Ids.ts"
import { forEachPage } from "../../../src/Pages.ts"
import { isAbout } from "../../../src/memory/Subject.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { columns, joined, rowOfPosition } from "./MemoryRows.ts"
import { removeRows } from "./MemoryWrites.ts"

/** Rows of a table that are counted at most. */
const counted_max = 1_000

const decodeTables = rowDecoder(
  Schema.Struct({ name: Schema.String, column: Schema.String }),
  "names of tables"
)
const decodeCounts = rowDecoder(Schema.Struct({ rows: Schema.Int }), "counts of rows")

/** Rows of the tenant from a position on, to be judged here: a database's lower case is not ours. */
const pageOf = (sql: SqlClient.SqlClient, tenant: Tenant, after: string) =>
  Effect.flatMap(
    sql.unsafe(
      `SELECT r.position, ${columns} FROM ${joined} WHERE r.tenant = $1::text AND r.position > $2::int8
       ORDER BY r.position LIMIT ${page_max}`,
      [tenant, after]
    ),
    rowOfPosition
  )

type Positioned = Effect.Success<ReturnType<typeof pageOf>>[number]

const eraseRows = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  subject: string
) {
  const erased = { interaction: 0, session: 0, persistent: 0 }
  yield* forEachPage(
    page_max,
    (last: Positioned | undefined) => pageOf(sql, tenant, last?.position ?? "0"),
    Effect.fnUntraced(function* (page) {
      const gone = page.filter(({ row }) => isAbout(row, subject))
      for (const { row } of gone) erased[row.tier]++
      yield* removeRows(
        sql,
        gone.map(({ position }) => position)
      )
      return undefined
    })
  )
  return erased
})

/** Each table with rows of the tenant, those of the tenant's runs included, and how many rows name the subject. */
const scan = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  subject: string
) {
  const tables = yield* Effect.flatMap(
    sql.unsafe(
      // A row that names its tenant may have no run.
      `SELECT c.relname AS name, CASE WHEN bool_or(a.attname = 'tenant') THEN 'tenant' ELSE 'run_id' END AS column
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind = 'r' AND a.attname IN ('tenant', 'run_id')
       GROUP BY c.relname ORDER BY 1`
    ),
    decodeTables
  )
  return yield* Effect.forEach(tables, ({ column, name }) =>
    Effect.map(
      Effect.flatMap(
        sql.unsafe(
          `SELECT count(*)::int4 AS rows FROM (SELECT FROM troupe."${name}" t
             WHERE ${column === "tenant" ? "t.tenant = $1::text" : "t.run_id IN (SELECT x.run_id FROM troupe.runs x WHERE x.tenant = $1::text)"}
               AND strpos(lower(t::text), lower($2::text)) > 0 LIMIT ${counted_max}) f`,
          [tenant, subject]
        ),
        decodeCounts
      ),
      ([found]) => ({ table: name, rows: found?.rows ?? 0 })
    )
  )
})

export const eraseSubject = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  subject: string
) {
  const erased = yield* eraseRows(sql, tenant, subject)
  const report: Erasure = { subject, erased, scanned: yield* scan(sql, tenant, subject) }
  return report
})
