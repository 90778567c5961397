/**
 * Which process owns which runs: leases, runs without an owner, and runs that need what their owner does not host. Leases are
 * measured by the database's clock, the one clock that all processes share. Private to this room.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { RunOwnership } from "../../../services/RunOwnership.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import type { Need } from "../../../src/run/Needs.ts"
import { run_over, run_parked } from "./Codes.ts"
import { head_columns, readableHeads } from "./RunRows.ts"
import { inTransaction, toJournalError } from "../engine/SqlFailure.ts"

const runs_max = 10_000

/** No process with a valid lease owns the run with the details `d`. */
const no_owner = `(d.owner IS NULL OR NOT EXISTS (
  SELECT FROM troupe.processes p WHERE p.owner = d.owner AND p.expires_at > clock_timestamp()))`

/** This array contains everything that the run with the details `d` needs. */
const hosted_by = (array: string) => `d.agent = ANY(${array}) AND d.needs <@ ${array}`

/** The run's turn: 1 for its tenant's oldest run, 2 for the next, and so on. Tenants take turns in this order. */
const turn = `row_number() OVER (PARTITION BY r.tenant ORDER BY d.created_at, d.run_id) AS turn`

const done = (self: Effect.Effect<unknown, SqlError.SqlError>): Effect.Effect<void, JournalError> =>
  Effect.asVoid(Effect.mapError(self, toJournalError))

/** Sets what a process must host, beside the run's agent, to claim the run. */
export const setNeeds = (sql: SqlClient.SqlClient, run: RunId, needs: ReadonlyArray<Need>) =>
  sql.unsafe(`UPDATE troupe.run_details SET needs = $2::text[] WHERE run_id = $1::uuid`, [
    run,
    needs
  ])

type Leases = "heartbeat" | "release" | "recoverable" | "adopt" | "handOver"

export const make = (
  sql: SqlClient.SqlClient,
  wake: (run: RunId) => Effect.Effect<void, SqlError.SqlError>
): Pick<RunOwnership["Service"], Leases> => ({
  heartbeat: (owner, lease_ms) =>
    done(
      sql.unsafe(
        `WITH old AS (DELETE FROM troupe.processes WHERE expires_at < clock_timestamp() - interval '1 day' AND NOT guarded AND owner <> $1::text)
         INSERT INTO troupe.processes (owner, expires_at) VALUES ($1::text, clock_timestamp() + $2::int4 * interval '1 millisecond')
         ON CONFLICT (owner) DO UPDATE SET expires_at = excluded.expires_at`,
        [owner, lease_ms]
      )
    ),
  release: (owner) =>
    done(sql.unsafe(`DELETE FROM troupe.processes WHERE owner = $1::text`, [owner])),
  // `OFFSET 0` makes the search for an earlier run a probe of an index. As a join it may read all open runs for each run.
  recoverable: (owner, hosted, limit) =>
    readableHeads(
      sql.unsafe(
        `SELECT ${head_columns}, ${turn}
         FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id
         WHERE ${hosted_by("$3::text[]")} AND r.status > ${run_parked} AND r.status < ${run_over}
           AND (d.owner = $1::text OR ${no_owner}) AND NOT EXISTS (
           SELECT FROM troupe.run_details o WHERE o.tenant = d.tenant AND o.agent = d.agent
             AND o.address_key = d.address_key AND o.open AND o.ordinal < d.ordinal OFFSET 0)
         ORDER BY turn, d.created_at, d.run_id LIMIT $2::int4`,
        [owner, Math.min(limit, runs_max), hosted]
      )
    ),
  // A run that another process is writing is skipped and not waited for. Turns are counted before the rows are locked, because a
  // query with a window function cannot lock them; the owner is checked again under the lock.
  adopt: (owner, hosted, limit) =>
    readableHeads(
      sql.unsafe(
        `WITH line AS MATERIALIZED (SELECT d.run_id, d.created_at, ${turn}
           FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id
           WHERE r.status = ${run_parked} AND ${hosted_by("$3::text[]")} AND ${no_owner}),
         found AS MATERIALIZED (SELECT d.run_id, l.turn FROM line l JOIN troupe.run_details d ON d.run_id = l.run_id
           WHERE ${no_owner} ORDER BY l.turn, l.created_at, l.run_id LIMIT $2::int4 FOR UPDATE OF d SKIP LOCKED),
         d AS (UPDATE troupe.run_details d SET owner = $1::text FROM found f WHERE d.run_id = f.run_id
           RETURNING d.run_id, d.agent, d.address_key, d.conversation, d.ordinal, d.owner, d.created_at, d.needs, f.turn)
         SELECT ${head_columns} FROM d JOIN troupe.runs r ON r.run_id = d.run_id ORDER BY d.turn, d.created_at, d.run_id`,
        [owner, Math.min(limit, runs_max), hosted]
      )
    ),
  handOver: (run, epoch, needs) =>
    Effect.mapError(
      inTransaction(sql)(
        Effect.gen(function* () {
          const rows = yield* sql.unsafe(
            `WITH r AS MATERIALIZED (SELECT run_id FROM troupe.runs WHERE run_id = $1::uuid AND epoch = $2::int4 FOR UPDATE)
             UPDATE troupe.run_details d SET owner = NULL, needs = $3::text[] FROM r WHERE d.run_id = r.run_id RETURNING 1 AS held`,
            [run, epoch, needs]
          )
          if (rows.length > 0) yield* wake(run)
          return rows.length > 0
        })
      ),
      toJournalError
    )
})
