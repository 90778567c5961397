/**
 * The records of questions in SQL, to be read: the journal writes them.
 */
import { Effect, Layer, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { ApprovalQuery } from "../../../services/ApprovalRecords.ts"
import { ApprovalRecords } from "../../../services/ApprovalRecords.ts"
import { StoreError } from "../../../services/StoreError.ts"
import { Approval } from "../../../src/approval/Approval.ts"
import { marksOf } from "../../../src/approval/ShownApproval.ts"
import { ApprovalId } from "../../../src/Ids.ts"
import type { Tenant } from "../../../src/Ids.ts"
import type { ApprovalRequested } from "../../../src/run/RunEvent.ts"
import { approvalCode, approvalStatus, run_quarantined, run_parked } from "./Codes.ts"
import { eventIn } from "./RunRows.ts"
import { toStoreError } from "../engine/SqlFailure.ts"

const page_max = 500
/** Events that are looked at for one record: one requests it, and arguments of others may name it. */
const requests_max = 10

interface ApprovalRow {
  readonly id: string
  readonly tenant: string
  readonly status: number
  readonly payload: string
  readonly answer: string | null
  /** Of its run; null where there is none. */
  readonly run_tenant: string | null
  readonly quarantined: boolean
  /** Events of its run that request it or name it, as they are stored. */
  readonly requests: ReadonlyArray<string>
}

/** Where `a` is a record. Of one that is pending also what its run requests: it is searched as text, whatever is stored. */
const columns = `a.id, a.tenant, a.status, a.payload, a.answer, r.tenant AS run_tenant,
  coalesce(r.status >= ${run_quarantined + run_parked}, false) AS quarantined,
  ARRAY(SELECT e.payload FROM troupe.run_events e WHERE a.status = 0 AND e.run_id = a.run_id
    AND e.type = 'ApprovalRequested' AND strpos(e.payload, a.id::text) > 0 ORDER BY e.seq LIMIT ${requests_max}) AS requests`
const records = "(troupe.approvals a LEFT JOIN troupe.runs r ON r.run_id = a.run_id)"
const pending = approvalCode("pending")

const decode = Schema.decodeUnknownResult(Approval)
const decodeObject = Schema.decodeUnknownResult(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/**
 * The payload is the question, the answer is what came of it; id, tenant and status are the row's. Undefined = it cannot be
 * read, which only a change from outside does.
 */
const approvalOf = (row: ApprovalRow): Approval | undefined => {
  const question = decodeObject(row.payload)
  const answer = decodeObject(row.answer ?? "{}")
  if (Result.isFailure(question) || Result.isFailure(answer)) return undefined
  const { id, status, tenant } = row
  const read = decode({
    ...question.success,
    ...answer.success,
    id,
    tenant,
    status: approvalStatus(status)
  })
  return Result.isSuccess(read) ? { ...read.success, ...marks(row, read.success) } : undefined
}

const marks = ({ quarantined, requests, run_tenant, tenant }: ApprovalRow, record: Approval) =>
  marksOf(record, {
    tenant: (run_tenant ?? tenant) as Tenant,
    quarantined,
    requested: requests
      .map(eventIn)
      .find((event) => event?._tag === "ApprovalRequested" && event.approval === record.id) as
      | ApprovalRequested
      | undefined
  })

const unreadable = ({ id }: ApprovalRow): string => `approval ${id} cannot be read`

type Rows = Effect.Effect<ReadonlyArray<ApprovalRow>, SqlError.SqlError>

/** One that cannot be read is left out and logged, so that it hides none of the others. */
const approvals = (rows: Rows): Effect.Effect<ReadonlyArray<Approval>, StoreError> =>
  Effect.flatMap(Effect.mapError(rows, toStoreError), (all) =>
    Effect.map(
      Effect.forEach(all, (row) => {
        const approval = approvalOf(row)
        return approval === undefined
          ? Effect.as(Effect.logError(unreadable(row)), [])
          : Effect.succeed([approval])
      }),
      (found) => found.flat()
    )
  )

/** Reads on until the page is full or there are no more rows: a row that cannot be read must not look like the end. */
const whole = Effect.fnUntraced(function* (
  query: ApprovalQuery,
  rowsOf: (query: ApprovalQuery) => Rows
) {
  const limit = Math.min(query.limit, page_max)
  const found: Array<Approval> = []
  let after = query.after
  while (true) {
    const wanted = limit - found.length
    const rows = yield* Effect.mapError(rowsOf({ ...query, after, limit: wanted }), toStoreError)
    found.push(...(yield* approvals(Effect.succeed(rows))))
    if (rows.length < wanted || found.length === limit) return found
    after = ApprovalId.make(rows.at(-1)!.id)
  }
})

const only = (rows: Rows): Effect.Effect<Approval | undefined, StoreError> =>
  Effect.flatMap(Effect.mapError(rows, toStoreError), ([row]) => {
    const approval = row === undefined ? undefined : approvalOf(row)
    return row !== undefined && approval === undefined
      ? Effect.fail(new StoreError({ message: unreadable(row) }))
      : Effect.succeed(approval)
  })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rowsOf = ({ after, limit, run_id, status, tenant }: ApprovalQuery): Rows =>
    sql<ApprovalRow>`
        SELECT ${sql.literal(columns)} FROM ${sql.literal(records)} WHERE ${sql.and([
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
        ])} ORDER BY a.position LIMIT ${Math.min(limit, page_max)}::int4`
  return ApprovalRecords.of({
    get: (id) =>
      only(
        sql.unsafe<ApprovalRow>(`SELECT ${columns} FROM ${records} WHERE a.id = $1::uuid`, [id])
      ),
    list: (query) => whole(query, rowsOf),
    overdue: (now, limit) =>
      approvals(
        sql.unsafe<ApprovalRow>(
          `SELECT ${columns} FROM (
             SELECT a.id, row_number() OVER (PARTITION BY a.tenant ORDER BY a.position) AS turn FROM troupe.approvals a
             WHERE a.status = ${pending} AND a.expires_at <= $1::int8
               AND NOT EXISTS (SELECT FROM troupe.quarantine q WHERE q.run_id = a.run_id)
             ORDER BY turn, a.position LIMIT $2::int4) due JOIN ${records} ON a.id = due.id
           ORDER BY due.turn, a.position`,
          [now, Math.min(limit, page_max)]
        )
      )
  })
})

export const layer: Layer.Layer<ApprovalRecords, never, SqlClient.SqlClient> = Layer.effect(
  ApprovalRecords,
  make
)
