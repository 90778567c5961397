/**
 * Reads the records of questions in SQL. The journal writes them.
 */
import { Effect, Layer, Option, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Scope } from "effect"
import type { SqlConnection, SqlError } from "effect/sql"
import type { ApprovalQuery } from "../../../services/ApprovalRecords.ts"
import { ApprovalRecords, isOfKind } from "../../../services/ApprovalRecords.ts"
import { StoreError } from "../../../services/StoreError.ts"
import { Approval } from "../../../src/approval/Approval.ts"
import { marksOf } from "../../../src/approval/ShownApproval.ts"
import { AgentName, ApprovalId, ConversationId, Tenant } from "../../../src/value/Ids.ts"
import { defined, isObject } from "../../../src/value/PlainObject.ts"
import type { Question } from "../../../src/run/RunEvent.ts"
import { ApprovalCode, approvalCode, approvalStatus, run_quarantined, run_parked } from "./Codes.ts"
import { eventIn, parsedJson } from "./RunRows.ts"
import { readablePage, rowReader } from "../engine/DecodedRows.ts"
import { agent_said } from "../engine/StoredText.ts"
import { Sender, senderOf } from "./SqlTaskStore.ts"
import * as GroupedReads from "../engine/GroupedReads.ts"
import { orStoreError, toStoreError } from "../engine/SqlFailure.ts"
import { TenantReads } from "../engine/TenantReads.ts"

const page_max = 500
/** The most events that are read for one record. One event requests the approval; the arguments of others may contain its id. */
const requests_max = 10

const StoredRow = Schema.Struct({
  id: ApprovalId,
  tenant: Tenant,
  status: ApprovalCode,
  /** The question and its outcome, as JSON texts. They are decoded together, as the approval. */
  payload: Schema.String,
  answer: Schema.NullOr(Schema.String)
})
type StoredRow = typeof StoredRow.Type

/** A row with what marks are made of. */
const MarkedRow = Schema.Struct({
  ...StoredRow.fields,
  /** The tenant of its run; null where there is no run. */
  run_tenant: Schema.NullOr(Tenant),
  quarantined: Schema.Boolean,
  /** The requests of its run that contain its id, as JSON texts; empty unless the record is pending. */
  requests: Schema.Array(Schema.String),
  /** Of the run's task; null where there is none. */
  conversation: Schema.NullOr(ConversationId),
  asked_by: Schema.NullOr(Schema.fromJsonString(Sender)),
  agent: Schema.NullOr(AgentName)
})
type MarkedRow = typeof MarkedRow.Type

const stored = "a.id, a.tenant, a.status, a.payload, a.answer"
/**
 * The columns of a record `a` with what its marks are made of. A pending one has the requests of its run that contain its id;
 * they are searched as text, so that it works whatever is stored.
 */
const marked = `${stored}, r.tenant AS run_tenant,
  coalesce(r.status >= ${run_quarantined + run_parked}, false) AS quarantined,
  ARRAY(SELECT e.payload FROM troupe.run_pairs e WHERE a.status = 0 AND e.run_id = a.run_id
    AND e.type IN ('ApprovalRequested', 'ClientRequested') AND strpos(e.payload, a.id::text) > 0 ORDER BY e.seq LIMIT ${requests_max}) AS requests,
  t.conversation, t.by AS asked_by, t.agent`
const records_of = (
  approvals: string
) => `(${approvals} a LEFT JOIN troupe.runs r ON r.run_id = a.run_id LEFT JOIN LATERAL (
  SELECT t.conversation, t.by, coalesce(${agent_said}, t.agent) AS agent FROM troupe.agent_tasks t WHERE t.id = a.run_id OFFSET 0) t ON true)`
const by_ids = `SELECT ${stored} FROM troupe.approvals a WHERE a.id = ANY ($1::text[]::uuid[])`
const by_ids_of_tenant = `SELECT ${marked} FROM ${records_of("troupe.approvals")} WHERE a.id = ANY ($1::text[]::uuid[]) AND a.tenant = $2::text`
const pending = approvalCode("pending")

const decode = Schema.decodeUnknownOption(Approval)
const next_expiry = `SELECT min(expires_at)::float8 AS expires_at FROM troupe.approvals
  WHERE status = ${pending} AND expires_at > $1::int8`
const readExpiry = rowReader(
  Schema.Struct({ expires_at: Schema.NullOr(Schema.Number) }),
  "ends of questions"
)
const decodeStored = Schema.decodeUnknownOption(StoredRow)
const decodeMarked = Schema.decodeUnknownOption(MarkedRow)

/** The object that a JSON text says; undefined where it says none. */
const objectIn = (text: string): object | undefined => {
  const value = Result.getOrUndefined(parsedJson(text))
  return isObject(value) ? value : undefined
}

/**
 * Builds the approval: `payload` holds the question, `answer` the outcome; id, tenant and status are the row's own. Undefined
 * where the row cannot be read, which only a change of the database from outside causes.
 */
const approvalOf = ({ answer, id, payload, status, tenant }: StoredRow): Approval | undefined => {
  const question = objectIn(payload)
  const outcome = answer === null ? {} : objectIn(answer)
  if (question === undefined || outcome === undefined) return undefined
  return Option.getOrUndefined(
    decode({ ...question, ...outcome, id, tenant, status: approvalStatus(status) })
  )
}

/** The approval in a row, without marks. */
const storedIn = (found: unknown): Approval | undefined => {
  const row = Option.getOrUndefined(decodeStored(found))
  return row && approvalOf(row)
}

/** The approval in a row, with its marks. */
const markedIn = (found: unknown): Approval | undefined => {
  const row = Option.getOrUndefined(decodeMarked(found))
  const record = row && approvalOf(row)
  return row && record && { ...record, ...marks(row, record), ...originOf(row) }
}

const originOf = ({ agent, asked_by, conversation }: MarkedRow): Partial<Approval> => {
  if (agent === null || asked_by === null || conversation === null) return {}
  const { by, via } = senderOf(asked_by)
  return { agent, conversation, asked_by: by, ...defined({ asked_via: via }) }
}

/** The event among these texts that requests the approval, if there is one. */
const requestIn = (texts: ReadonlyArray<string>, id: ApprovalId): Question | undefined => {
  for (const text of texts) {
    const event = eventIn(text)
    const isQuestion = event?._tag === "ApprovalRequested" || event?._tag === "ClientRequested"
    if (isQuestion && event.approval === id) return event
  }
  return undefined
}

const marks = ({ quarantined, requests, run_tenant, tenant }: MarkedRow, record: Approval) =>
  marksOf(record, {
    tenant: run_tenant ?? tenant,
    quarantined,
    requested: requestIn(requests, record.id)
  })

const unreadable = (row: SqlConnection.Row): string =>
  `approval ${String(row["id"])} cannot be read`

type In = (row: unknown) => Approval | undefined

type Rows = Effect.Effect<ReadonlyArray<SqlConnection.Row>, SqlError.SqlError>

/** Decodes records. One that cannot be read is left out and logged, so that it does not hide the others. */
const readable = (
  rows: ReadonlyArray<SqlConnection.Row>,
  approvalIn: In
): Effect.Effect<ReadonlyArray<Approval>> =>
  Effect.map(
    Effect.forEach(rows, (row) => {
      const approval = approvalIn(row)
      return approval === undefined
        ? Effect.as(Effect.logError(unreadable(row)), [])
        : Effect.succeed([approval])
    }),
    (found) => found.flat()
  )

/** A page of the records of the query's kind. */
const readPage = (
  query: ApprovalQuery,
  rowsOf: (query: ApprovalQuery) => Rows
): Effect.Effect<ReadonlyArray<Approval>, StoreError> =>
  readablePage({
    limit: Math.min(query.limit, page_max),
    after: query.after,
    rowsOf: (after, limit) => Effect.mapError(rowsOf({ ...query, after, limit }), toStoreError),
    read: (rows) => Effect.map(readable(rows, markedIn), (found) => found.filter(isOfKind(query))),
    keyOf: (row) => row["id"]
  })

/** The record in a row; undefined if there is no row. Fails with StoreError where the record cannot be read. */
const recordIn =
  (approvalIn: In) =>
  (row: SqlConnection.Row | undefined): Effect.Effect<Approval | undefined, StoreError> => {
    const approval = row === undefined ? undefined : approvalIn(row)
    return row !== undefined && approval === undefined
      ? Effect.fail(new StoreError({ message: unreadable(row) }))
      : Effect.succeed(approval)
  }

/** The most records in one statement. */
const batch_max = 512

/** The row of each id, in the order of `ids`; undefined where there is none. */
const rowsById = (ids: ReadonlyArray<ApprovalId>) => (rows: ReadonlyArray<SqlConnection.Row>) => {
  const found = new Map(rows.map((row) => [row["id"], row]))
  return ids.map((id) => found.get(id))
}

/** Makes the function that reads a record, in one statement with those that others ask for meanwhile. */
const reading = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient
): Effect.fn.Return<ApprovalRecords["Service"]["get"], never, Scope.Scope> {
  const read = yield* GroupedReads.make({
    sql,
    batch_max,
    read: (ids: ReadonlyArray<ApprovalId>) =>
      Effect.map(sql.unsafe<SqlConnection.Row>(by_ids, [[...new Set(ids)]]), rowsById(ids))
  })
  return (id) => Effect.flatMap(Effect.mapError(read(id), toStoreError), recordIn(storedIn))
})

/** As `reading`, but for principals of a tenant, with the tenant's database rights. */
const readingFor = (sql: SqlClient.SqlClient, reads: TenantReads["Service"]) =>
  GroupedReads.makeForTenants({
    sql,
    batch_max,
    reads,
    read: (tenant, keys: ReadonlyArray<{ readonly tenant: Tenant; readonly id: ApprovalId }>) => {
      const ids = keys.map(({ id }) => id)
      return Effect.map(
        sql.unsafe<SqlConnection.Row>(by_ids_of_tenant, [[...new Set(ids)], tenant]),
        rowsById(ids)
      )
    }
  })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  const read = yield* readingFor(sql, reads)
  const rowsOf = ({ after, limit, order, run_id, status, tenant }: ApprovalQuery): Rows => {
    const [follows, direction] = order === "newest" ? ["<", "DESC"] : [">", "ASC"]
    const params: Array<unknown> = [tenant, Math.min(limit, page_max)]
    const param = (value: unknown) => `$${params.push(value)}::text::uuid`
    const conditions = [
      "p.tenant = $1::text",
      // Written out, so that the index of pending ones serves it.
      ...(status === undefined ? [] : [`p.status = ${approvalCode(status)}`]),
      ...(run_id === undefined ? [] : [`p.run_id = ${param(run_id)}`]),
      ...(after === undefined
        ? []
        : [
            `p.position ${follows} (SELECT l.position FROM troupe.approvals l WHERE l.id = ${param(after)})`
          ])
    ]
    // Chosen before anything is joined: a planner that does not know the table yet joins all of it, and then sorts.
    const chosen = `(SELECT p.* FROM troupe.approvals p WHERE ${conditions.join(" AND ")}
      ORDER BY p.position ${direction} LIMIT $2::int4)`
    return reads.of(tenant)(
      sql.unsafe<SqlConnection.Row>(
        `SELECT ${marked} FROM ${records_of(chosen)} ORDER BY a.position ${direction}`,
        params
      )
    )
  }
  return ApprovalRecords.of({
    get: yield* reading(sql),
    read: (tenant, id) =>
      Effect.flatMap(Effect.mapError(read({ tenant, id }), toStoreError), recordIn(markedIn)),
    list: (query) => readPage(query, rowsOf),
    overdue: (now, limit) =>
      Effect.flatMap(
        Effect.mapError(
          sql.unsafe<SqlConnection.Row>(
            `SELECT ${stored} FROM (
             SELECT a.id, row_number() OVER (PARTITION BY a.tenant ORDER BY a.position) AS turn FROM troupe.approvals a
             WHERE a.status = ${pending} AND a.expires_at <= $1::int8
               AND NOT EXISTS (SELECT FROM troupe.quarantine q WHERE q.run_id = a.run_id)
             ORDER BY turn, a.position LIMIT $2::int4) due JOIN troupe.approvals a ON a.id = due.id
           ORDER BY due.turn, a.position`,
            [now, Math.min(limit, page_max)]
          ),
          toStoreError
        ),
        (rows) => readable(rows, storedIn)
      ),
    nextExpiry: (now) =>
      Effect.mapBoth(readExpiry(sql, next_expiry, [now]), {
        onSuccess: ([row]) => row?.expires_at ?? undefined,
        onFailure: orStoreError
      })
  })
})

export const layer: Layer.Layer<ApprovalRecords, never, SqlClient.SqlClient | TenantReads> =
  Layer.effect(ApprovalRecords, make)
