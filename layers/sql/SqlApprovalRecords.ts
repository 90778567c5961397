/**
 * The records of questions in SQL, to be read: the journal writes them.
 */
import { Effect, Layer, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { StoreError } from "../../services/TaskStore.ts"
import { Approval } from "../../src/approval/Approval.ts"
import { approvalCode, approvalStatus } from "./Codes.ts"
import { toStoreError } from "./SqlFailure.ts"

const page_max = 500

interface ApprovalRow {
  readonly id: string
  readonly tenant: string
  readonly status: number
  readonly payload: string
  readonly answer: string | null
}

const columns = "a.id, a.tenant, a.status, a.payload, a.answer"
const pending = approvalCode("pending")

const decode = Schema.decodeUnknownResult(Approval)

/** The payload is the question, the answer is what came of it; tenant and status are the row's. */
const approvalOf = (row: ApprovalRow): Result.Result<Approval, unknown> =>
  decode({
    ...JSON.parse(row.payload),
    ...(row.answer === null ? undefined : JSON.parse(row.answer)),
    tenant: row.tenant,
    status: approvalStatus(row.status)
  })

const approvals = (
  rows: Effect.Effect<ReadonlyArray<ApprovalRow>, SqlError.SqlError>
): Effect.Effect<ReadonlyArray<Approval>, StoreError> =>
  Effect.flatMap(Effect.mapError(rows, toStoreError), (all) =>
    Effect.forEach(all, (row) =>
      Result.match(approvalOf(row), {
        onSuccess: (approval) => Effect.succeed(approval),
        onFailure: () =>
          Effect.fail(new StoreError({ message: `approval ${row.id} cannot be read` }))
      })
    )
  )

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return ApprovalRecords.of({
    get: (id) =>
      Effect.map(
        approvals(
          sql.unsafe<ApprovalRow>(
            `SELECT ${columns} FROM troupe.approvals a WHERE a.id = $1::uuid`,
            [id]
          )
        ),
        ([approval]) => approval
      ),
    list: ({ after, limit, run_id, status, tenant }) =>
      approvals(sql<ApprovalRow>`
        SELECT ${sql.literal(columns)} FROM troupe.approvals a WHERE ${sql.and([
          sql`a.tenant = ${tenant}`,
          ...(status === undefined
            ? []
            : // Written out, so that the index of pending ones serves it.
              [sql`a.status = ${sql.literal(String(approvalCode(status)))}`]),
          ...(run_id === undefined ? [] : [sql`a.run_id = ${run_id}::uuid`]),
          ...(after === undefined
            ? []
            : [
                sql`a.position > (SELECT p.position FROM troupe.approvals p WHERE p.id = ${after}::uuid)`
              ])
        ])} ORDER BY a.position LIMIT ${Math.min(limit, page_max)}::int4`),
    overdue: (now, limit) =>
      approvals(
        sql.unsafe<ApprovalRow>(
          `SELECT ${columns} FROM troupe.approvals a
           WHERE a.status = ${pending} AND a.expires_at <= $1::int8 ORDER BY a.position LIMIT $2::int4`,
          [now, Math.min(limit, page_max)]
        )
      )
  })
})

export const layer: Layer.Layer<ApprovalRecords, never, SqlClient.SqlClient> = Layer.effect(
  ApprovalRecords,
  make
)
