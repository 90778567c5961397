/**
 * Checks runs that are not over without folding them: whether all of their events exist, and whether each open question has its
 * record. Only runs where the counts differ are folded. Private to this room.
 */
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { JournalError } from "../../../services/RunJournal.ts"
import { announceLostRecord } from "../../../services/RunQuarantine.ts"
import type { Approval } from "../../../src/approval/Approval.ts"
import { RunId } from "../../../src/value/Ids.ts"
import { restoredRecords } from "../../../src/run/Projection.ts"
import { foldWhole } from "../../../src/run/Quarantine.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import { approvalRow } from "./AppendStatement.ts"
import { run_over, run_parked } from "./Codes.ts"
import type * as QuarantineRows from "./QuarantineRows.ts"
import { foldableEntries, find } from "./RunRows.ts"
import { journalRowDecoder } from "../engine/DecodedRows.ts"
import { eventsOf } from "../engine/EventRows.ts"
import { inTransaction, orJournalError } from "../engine/SqlFailure.ts"

const page_max = 1_000

const decodeAudited = journalRowDecoder(
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
  sql.unsafe(
    `SELECT r.run_id, r.length,
       (SELECT count(*)::int4 FROM ${eventsOf("r.run_id", "0", "r.length")} e) AS events,
       (SELECT coalesce(sum(CASE WHEN e.type IN ('ApprovalRequested', 'ClientRequested') THEN 1 ELSE -1 END), 0)::int4 FROM troupe.run_pairs e
         WHERE e.run_id = r.run_id AND e.type IN ('ApprovalRequested', 'ClientRequested', 'ApprovalDecided', 'ApprovalClosed')) AS approvals,
       (SELECT count(*)::int4 FROM troupe.approvals a WHERE a.run_id = r.run_id AND a.status + 0 = 0) AS records
     FROM (${running} UNION ALL ${parked} ORDER BY run_id LIMIT $2::int4) r ORDER BY r.run_id`,
    [after ?? "00000000-0000-0000-0000-000000000000", Math.min(Math.max(limit, 1), page_max)]
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

export const make =
  (sql: SqlClient.SqlClient, markQuarantined: ReturnType<typeof QuarantineRows.marker>) =>
  (limit: number, after?: RunId): Effect.Effect<RunId | undefined, JournalError> =>
    Effect.gen(function* () {
      const rows = yield* Effect.mapError(
        Effect.flatMap(counted(sql, limit, after), decodeAudited),
        orJournalError
      )
      for (const { approvals, events, length, records, run_id } of rows) {
        if (events === length && approvals <= records) continue
        yield* (
          markQuarantined(repaired(sql, run_id)) as Effect.Effect<
            void,
            RunQuarantined | JournalError | SqlError.SqlError
          >
        ).pipe(
          Effect.mapError(orJournalError),
          Effect.catchTag("RunQuarantined", () => Effect.void)
        )
      }
      return rows.length < limit ? undefined : rows.at(-1)?.run_id
    })
