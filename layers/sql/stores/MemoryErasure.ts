/**
 * Erases a subject from the memories of a tenant in SQL, and then searches every table for the subject.
 */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { ErasedMemories } from "../../../src/erasure/Erasure.ts"
import { page_max } from "../../../services/MemoryStore.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { forEachPage } from "../../../src/value/Pages.ts"
import { isAbout } from "../../../src/memory/Subject.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { columns, joined, rowOfPosition } from "./MemoryRows.ts"
import { inMemoryTransaction, removeRows } from "./MemoryWrites.ts"
import { scanTables } from "./SubjectScan.ts"

/**
 * Rows of the tenant after a position. Whether they name the subject is decided in JavaScript, because the database converts text
 * to lower case differently.
 */
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

/** Removes each row that names the subject, page by page. Gives the number of removed rows of each tier. */
export const eraseMemories = Effect.fnUntraced(function* (
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
      const positions = gone.map(({ position }) => position)
      yield* inMemoryTransaction(sql)(removeRows(sql, positions))
      for (const { row } of gone) erased[row.tier]++
      return undefined
    })
  )
  return erased
})

const decodePositions = rowDecoder(Schema.Struct({ position: Schema.String }), "memories")

/** Removes the memories that these runs wrote or that belong to these conversations. Gives the number of removed rows. */
export const eraseMemoriesOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  of: {
    readonly tenant: Tenant
    readonly runs: ReadonlyArray<string>
    readonly conversations: ReadonlyArray<string>
  }
) {
  for (let gone = 0; ;) {
    const rows = yield* Effect.flatMap(
      sql.unsafe(
        `SELECT r.position::text AS position FROM troupe.memory_rows r WHERE r.tenant = $1::text
           AND (r.run_id = ANY ($2::text[]::uuid[]) OR r.session = ANY ($3::text[])) LIMIT ${page_max}`,
        [of.tenant, of.runs, of.conversations]
      ),
      decodePositions
    )
    yield* inMemoryTransaction(sql)(
      removeRows(
        sql,
        rows.map(({ position }) => position)
      )
    )
    gone += rows.length
    if (rows.length < page_max) return gone
  }
})

export const eraseSubject = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  subject: string
) {
  const erased = yield* eraseMemories(sql, tenant, subject)
  const report: ErasedMemories = {
    subject,
    erased,
    scanned: yield* scanTables(sql, tenant, subject)
  }
  return report
})
