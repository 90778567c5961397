/**
 * Runs in quarantine: marking them, reading their rows as they are stored, and releasing them. Private to this room.
 */
import { Clock, Effect, Result, Schema } from "effect"
import type { SqlClient, SqlConnection, SqlError } from "effect/sql"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { QuarantineQuery, RawPage, RunQuarantine } from "../../../services/RunQuarantine.ts"
import { announceQuarantine } from "../../../services/RunQuarantine.ts"
import type { RunId, Tenant } from "../../../src/value/Ids.ts"
import { foldWhole, QuarantinedRun, RawEvent, RunQuarantined } from "../../../src/run/Quarantine.ts"
import { RunNotFound } from "../../../src/run/RunCommand.ts"
import { isQuarantined, run_quarantined, RunCode } from "./Codes.ts"
import { foldableEntries, find } from "./RunRows.ts"
import { journalRowDecoder, readablePage, readableRows } from "../engine/DecodedRows.ts"
import { eventsOf } from "../engine/EventRows.ts"
import { inTransaction, orJournalError, toJournalError } from "../engine/SqlFailure.ts"
import type { TenantReads } from "../engine/TenantReads.ts"

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
        const state = yield* Effect.result(foldableEntries(sql, run, head.length))
        const folded =
          Result.isFailure(state) && state.failure._tag === "JournalError"
            ? yield* state.failure
            : Result.flatMap(state, (all) => foldWhole(run, all, head.length))
        if (Result.isFailure(folded)) {
          const why = folded.failure as RunQuarantined
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

export const make = (
  sql: SqlClient.SqlClient,
  reads: TenantReads["Service"],
  wake: (run: RunId) => Effect.Effect<void, SqlError.SqlError>
): Pick<RunQuarantine["Service"], "quarantined" | "raw" | "liftQuarantine"> => ({
  quarantined: quarantined(sql, reads),
  raw: raw(sql, reads),
  liftQuarantine: liftQuarantine(sql, wake)
})
