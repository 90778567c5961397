/**
 * Erases a subject from the memories of a tenant in SQL, and then looks for it in every table.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Erasure } from "../../../services/MemoryStore.ts"
import { page_max } from "../../../services/MemoryStore.ts"
import type { Tenant } from "../../../src/Ids.ts"
import { forEachPage } from "../../../src/Pages.ts"
import { isAbout } from "../../../src/memory/Subject.ts"
import { inTransaction } from "../engine/SqlFailure.ts"
import { columns, joined, rowOfPosition } from "./MemoryRows.ts"
import { removeRows } from "./MemoryWrites.ts"
import { scanTables } from "./SubjectScan.ts"

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
      const positions = gone.map(({ position }) => position)
      yield* inTransaction(sql)(removeRows(sql, positions))
      for (const { row } of gone) erased[row.tier]++
      return undefined
    })
  )
  return erased
})

/** Page by page: one transaction for each would lock the rows of all until its end. */
export const eraseSubject = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  subject: string
) {
  const erased = yield* eraseRows(sql, tenant, subject)
  const report: Erasure = { subject, erased, scanned: yield* scanTables(sql, tenant, subject) }
  return report
})
