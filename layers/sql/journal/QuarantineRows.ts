/**
 * Runs in quarantine: marking them, reading their rows as they are stored, and releasing them; and the audit of runs that are not
 * over, which may lack events or records. Private to this room.
 */
import { Clock, Effect, Schema } from "effect"
import type { SqlClient, SqlConnection, SqlError } from "effect/sql"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { QuarantineQuery, RawPage, RunQuarantine } from "../../../services/RunQuarantine.ts"
import { announceQuarantine, announceLostRecord } from "../../../services/RunQuarantine.ts"
import { foldWhole, QuarantinedRun, RawEvent, RunQuarantined } from "../../../src/run/Quarantine.ts"
import { RunNotFound } from "../../../src/run/RunCommand.ts"
import { isQuarantined, run_quarantined, RunCode, run_over, run_parked } from "./Codes.ts"
import { foldableEntries, find } from "./RunRows.ts"
import {
  journalRowDecoder,
  journalRowReader,
  readablePage,
  readableRows
} from "../engine/DecodedRows.ts"
import { eventsOf } from "../engine/EventRows.ts"
import { inTransaction, orJournalError, toJournalError } from "../engine/SqlFailure.ts"
import type { TenantReads } from "../engine/TenantReads.ts"
import type { Approval } from "../../../src/approval/Approval.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { RunId } from "../../../src/value/Ids.ts"
import { restoredRecords } from "../../../src/run/Projection.ts"
import { approvalRow } from "./AppendStatement.ts"

const page_max = 500
const raw_max = 10_000
/** The largest int4: greater than the seq of every event. */
const int4_max = 2_147_483_647

/** Marks a run whose journal does not fold. Only the first to mark it logs it. */
const mark = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, error: RunQuarantined) {
  const rows = yield* sql.unsafe(
    `WITH r AS (UPDATE troupe.runs SET status = status + ${run_quarantined}
       WHERE run_id = $1::uuid AND status < ${run_quarantined} - 1 RETURNING run_id, tenant)
     INSERT INTO troupe.quarantine (run_id, tenant, reason, seq, at)
     SELECT run_id, tenant, $2::text, $3::int4, $4::int8 FROM r ON CONFLICT DO NOTHING RETURNING 1 AS made`,
    [error.run_id, error.reason, error.seq, yield* Clock.currentTimeMillis]
  )
  if (rows.length > 0) yield* announceQuarantine(error)
})

/**
 * Marks the run if the effect fails with RunQuarantined. If the mark cannot be written, it is left to the next read that fails.
 */
export const marker =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(effect: Effect.Effect<A, E | RunQuarantined, R>) =>
    Effect.tapError(effect, (error) =>
      error instanceof RunQuarantined ? Effect.ignore(mark(sql, error)) : Effect.void
    )

const decodeList = readableRows(
  QuarantinedRun.mapFields((fields) => ({ ...fields, at: Schema.BigInt })),
  "runs in quarantine"
)
/** A row has only the status if the run has no events in the range. */
const decodeRaw = journalRowDecoder(
  Schema.Union([
    RawEvent.mapFields((fields) => ({ ...fields, status: RunCode, at: Schema.BigInt })),
    Schema.Struct({ status: RunCode, seq: Schema.Null })
  ]),
  "events of a run"
)

/** Converts the time of each row to a number, in ms since 1970. */
const timed = <A extends { readonly at: bigint }>(rows: ReadonlyArray<A>) =>
  rows.map((row) => ({ ...row, at: Number(row.at) }))

const quarantined_statement = `SELECT q.run_id, q.reason, q.seq, q.at, d.agent, d.conversation, r.length,
    (SELECT count(*)::int4 FROM troupe.run_details o WHERE o.tenant = d.tenant AND o.agent = d.agent
      AND o.address_key = d.address_key AND o.open AND o.ordinal > d.ordinal) AS waiting
  FROM troupe.quarantine q JOIN troupe.runs r ON r.run_id = q.run_id
    JOIN troupe.run_details d ON d.run_id = q.run_id
  WHERE q.tenant = $1::text AND ($2::text = '' OR (q.at, q.run_id) >
    (SELECT a.at, a.run_id FROM troupe.quarantine a WHERE a.run_id = NULLIF($2::text, '')::uuid))
  ORDER BY q.at, q.run_id LIMIT $3::int4`

const quarantined =
  (sql: SqlClient.SqlClient, reads: TenantReads["Service"]) =>
  ({ after, limit, tenant }: QuarantineQuery) =>
    readablePage<QuarantinedRun, string, JournalError, never>({
      limit: Math.min(Math.max(limit, 1), page_max),
      after,
      rowsOf: (behind, most) =>
        sql
          .unsafe<SqlConnection.Row>(quarantined_statement, [tenant, behind ?? "", most])
          .pipe(reads.of(tenant), Effect.mapError(toJournalError)),
      read: (rows) => Effect.map(decodeList(rows), timed),
      keyOf: (row) => row["run_id"]
    })

const raw =
  (sql: SqlClient.SqlClient, reads: TenantReads["Service"]) =>
  (
    tenant: Tenant,
    run: RunId,
    from: number,
    limit: number
  ): Effect.Effect<RawPage, RunNotFound | JournalError> =>
    sql
      .unsafe(
        `SELECT r.status, e.* FROM troupe.runs r
           LEFT JOIN LATERAL (SELECT * FROM ${eventsOf("r.run_id", "$2::int4", String(int4_max))} x
             ORDER BY x.seq LIMIT $3::int4) e ON true
         WHERE r.run_id = $1::uuid AND r.tenant = $4::text ORDER BY e.seq`,
        [run, from, Math.min(Math.max(limit, 0), raw_max), tenant]
      )
      .pipe(
        reads.of(tenant),
        Effect.flatMap(decodeRaw),
        Effect.mapError(orJournalError),
        Effect.flatMap((rows) => {
          const [first] = rows
          if (first === undefined) return Effect.fail(new RunNotFound({ run_id: run }))
          const events = rows.flatMap((row) => {
            if (row.seq === null) return []
            const { at, payload, seq, type } = row
            return [{ seq, at: Number(at), type, payload }]
          })
          return Effect.succeed({ quarantined: isQuarantined(first.status), events })
        })
      )

const liftQuarantine =
  (sql: SqlClient.SqlClient, wake: (run: RunId) => Effect.Effect<void, SqlError.SqlError>) =>
  (run: RunId, tenant: Tenant) =>
    inTransaction(sql)(
      Effect.gen(function* () {
        const head = yield* find(sql, run, "FOR UPDATE OF r")
        if (head === undefined || head.tenant !== tenant) {
          return yield* new RunNotFound({ run_id: run })
        }
        if (head.quarantined !== true) return undefined
        const why = yield* foldableEntries(sql, run, head.length).pipe(
          Effect.flatMap((all) => Effect.fromResult(foldWhole(run, all, head.length))),
          Effect.as(undefined),
          Effect.catchTag("RunQuarantined", Effect.succeed)
        )
        if (why !== undefined) {
          yield* sql.unsafe(
            `UPDATE troupe.quarantine SET reason = $2::text, seq = $3::int4 WHERE run_id = $1::uuid`,
            [run, why.reason, why.seq]
          )
          return why
        }
        yield* sql.unsafe(
          `WITH q AS (DELETE FROM troupe.quarantine WHERE run_id = $1::uuid)
             UPDATE troupe.runs SET status = status - ${run_quarantined} WHERE run_id = $1::uuid`,
          [run]
        )
        yield* wake(run)
        return undefined
      })
    ).pipe(
      Effect.mapError(orJournalError),
      Effect.flatMap((why) => (why === undefined ? Effect.void : Effect.fail(why)))
    )

/** The most runs in one statement of an audit. */
const audited_max = 1_000

const readAudited = journalRowReader(
  Schema.Struct({
    run_id: RunId,
    length: Schema.Int,
    events: Schema.Int,
    approvals: Schema.Int,
    records: Schema.Int
  }),
  "audited runs"
)

/**
 * Two pages of runs, one of those at work and one of those parked: each kind has an index of its own, and no index covers both.
 */
const running = `(SELECT run_id, length FROM troupe.runs
  WHERE status > ${run_parked} AND status < ${run_over} AND run_id > $1::uuid ORDER BY run_id LIMIT $2::int4)`
const parked = `(SELECT run_id, length FROM troupe.runs
  WHERE status = ${run_parked} AND run_id > $1::uuid ORDER BY run_id LIMIT $2::int4)`

/**
 * Counts the events, open questions and records of each run. `a.status + 0 = 0` keeps the planner from the index of all open
 * questions: with few open questions that index looks as good as the one by run, and an audit would read all of them for each
 * run.
 */
const counted = (sql: SqlClient.SqlClient, limit: number, after: RunId | undefined) =>
  readAudited(
    sql,
    `SELECT r.run_id, r.length,
       (SELECT count(*)::int4 FROM ${eventsOf("r.run_id", "0", "r.length")} e) AS events,
       (SELECT coalesce(sum(CASE WHEN e.type IN ('ApprovalRequested', 'ClientRequested') THEN 1 ELSE -1 END), 0)::int4 FROM troupe.run_pairs e
         WHERE e.run_id = r.run_id AND e.type IN ('ApprovalRequested', 'ClientRequested', 'ApprovalDecided', 'ApprovalClosed')) AS approvals,
       (SELECT count(*)::int4 FROM troupe.approvals a WHERE a.run_id = r.run_id AND a.status + 0 = 0) AS records
     FROM (${running} UNION ALL ${parked} ORDER BY run_id LIMIT $2::int4) r ORDER BY r.run_id`,
    [after ?? "00000000-0000-0000-0000-000000000000", Math.min(Math.max(limit, 1), audited_max)]
  )

/**
 * Writes a question's record. A record that is pending already stays as it is, even if somebody changed it. Gives a row if it
 * wrote.
 */
const write = (sql: SqlClient.SqlClient, approval: Approval) => {
  const { expires_at, id, payload } = approvalRow(approval)
  return sql.unsafe(
    `INSERT INTO troupe.approvals (id, tenant, run_id, status, expires_at, payload)
     VALUES ($1::uuid, $2::text, $3::uuid, 0, NULLIF($4::text, '')::int8, $5::text)
     ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, run_id = excluded.run_id, status = 0,
       expires_at = excluded.expires_at, payload = excluded.payload, answer = NULL
     WHERE troupe.approvals.status <> 0 RETURNING 1 AS made`,
    [
      id,
      approval.tenant,
      approval.run_id,
      expires_at === undefined ? "" : String(expires_at),
      payload
    ]
  )
}

/** Writes the missing records of a run, under the run's lock, so that no answer arrives between the read and the write. */
const repaired = (sql: SqlClient.SqlClient, run: RunId) =>
  inTransaction(sql)(
    Effect.gen(function* () {
      const head = yield* find(sql, run, "FOR UPDATE OF r")
      if (head === undefined || head.quarantined === true) return
      const all = yield* foldableEntries(sql, run, head.length)
      const state = yield* Effect.fromResult(foldWhole(run, all, head.length))
      for (const question of restoredRecords(head, all, state)) {
        const made = yield* write(sql, question)
        if (made.length > 0) yield* announceLostRecord(question)
      }
    })
  )

type Mark = ReturnType<typeof marker>

/**
 * Checks runs that are not over without folding them: whether all of their events exist, and whether each open question has its
 * record. Only runs where the counts differ are folded.
 */
const audit = (sql: SqlClient.SqlClient, markQuarantined: Mark) =>
  Effect.fnUntraced(function* (limit: number, after?: RunId) {
    const rows = yield* counted(sql, limit, after)
    for (const { approvals, events, length, records, run_id } of rows) {
      if (events === length && approvals <= records) continue
      yield* (
        markQuarantined(repaired(sql, run_id)) as Effect.Effect<
          void,
          RunQuarantined | JournalError | SqlError.SqlError
        >
      ).pipe(Effect.catchTag("RunQuarantined", () => Effect.void))
    }
    return rows.length < limit ? undefined : rows.at(-1)?.run_id
  }, Effect.mapError(orJournalError))

export const make = (
  sql: SqlClient.SqlClient,
  reads: TenantReads["Service"],
  markQuarantined: Mark,
  wake: (run: RunId) => Effect.Effect<void, SqlError.SqlError>
): RunQuarantine["Service"] => ({
  quarantined: quarantined(sql, reads),
  raw: raw(sql, reads),
  liftQuarantine: liftQuarantine(sql, wake),
  audit: audit(sql, markQuarantined)
})
