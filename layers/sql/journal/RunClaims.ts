/**
 * Which process owns which runs: claims, leases, runs without an owner, and runs that need what their owner does not host. Leases
 * are measured by the database's clock, the one clock that all processes share. Private to this room.
 */
import { Clock, Effect, Schema } from "effect"
import type { Scope } from "effect"
import type { SqlClient, SqlConnection, SqlError } from "effect/sql"
import type { JournalError } from "../../../services/RunJournal.ts"
import { FencedOff } from "../../../services/RunJournal.ts"
import type { Claim, RunOwnership } from "../../../services/RunOwnership.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { RunIsOver, RunNotFound } from "../../../src/run/RunCommand.ts"
import { spanned } from "../../../src/value/Telemetry.ts"
import { run_over, runCode, run_parked } from "./Codes.ts"
import type { Item } from "./GroupCommit.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { notWritten } from "./JournalWriter.ts"
import {
  find,
  head_columns,
  headOf,
  readableHeads,
  wholeEntries,
  WholeRow,
  whyOf
} from "./RunRows.ts"
import { journalRowDecoder, journalRowReader } from "../engine/DecodedRows.ts"
import {
  isInTransaction,
  orJournalError,
  toJournalError,
  inTransaction
} from "../engine/SqlFailure.ts"
import type { Need } from "../../../src/run/Needs.ts"

interface Wanted extends Item {
  readonly lane: RunId
  readonly owner: string
  /** The epoch at which the run was found to be free; -1 = claim it at any epoch. */
  readonly seen: number
  /** ms since 1970. */
  readonly at: number
}

const decodeClaims = journalRowDecoder(WholeRow, "claimed runs")

/**
 * One statement claims runs and reads their events. Claims that arrive while it runs, as in a recovery, share the next one. The
 * most in one: each may return 1,000,000 bytes of events.
 */
const batch_max = 32

const statement = `SELECT * FROM troupe.claim_runs($1::text[], $2::int4[], $3::text[], $4::text[], $5::text[], $6::boolean)`

const claims = (
  sql: SqlClient.SqlClient,
  batch: ReadonlyArray<Wanted>,
  waits: boolean
): Effect.Effect<ReadonlyArray<SqlConnection.Row>, SqlError.SqlError> =>
  sql.unsafe(statement, [
    batch.map(({ lane }) => lane),
    batch.map(({ seen }) => seen),
    batch.map(({ owner }) => owner),
    batch.map(({ owner }) => JSON.stringify(owner)),
    // Times are passed as text, because the two engines encode arrays of numbers beyond int4 differently.
    batch.map(({ at }) => String(at)),
    waits
  ])

/**
 * Gives the undecoded row of each claim, none where it was not claimed. A row that cannot be read then fails its own claim only:
 * by then the others are claimed.
 */
const commitBatch = (sql: SqlClient.SqlClient) => (batch: ReadonlyArray<Wanted>) =>
  Effect.mapBoth(claims(sql, batch, false), {
    onFailure: toJournalError,
    onSuccess: (rows) => {
      const taken = new Map(rows.map((row) => [row["run_id"], [row]]))
      return batch.map(({ lane }) => taken.get(lane) ?? [])
    }
  })

/** Waits until the run is unlocked, then claims it alone. A refusal is derived from the head at that time. */
const claimWhenFree = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, wanted: Wanted) {
  const run = wanted.lane
  const [row] = yield* Effect.mapError(
    Effect.flatMap(claims(sql, [wanted], true), decodeClaims),
    orJournalError
  )
  if (row !== undefined) return row
  const known = yield* Effect.mapError(find(sql, run), orJournalError)
  if (known === undefined) return yield* new RunNotFound({ run_id: run })
  if (known.quarantined === true) {
    return yield* Effect.flatMap(whyOf(sql, run), Effect.fail)
  }
  return yield* runCode(known.status) < run_over
    ? new FencedOff({ run_id: run, epoch: known.epoch })
    : new RunIsOver({ run_id: run, status: known.status })
})

/**
 * Makes the function that claims a run: in the ambient transaction, if there is one, otherwise in one statement with other
 * claims.
 */
export const claiming = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient
): Effect.fn.Return<RunOwnership["Service"]["claim"], never, Scope.Scope> {
  const take = yield* GroupCommit.make({
    commit: commitBatch(sql),
    batch_max,
    overflow: () => notWritten("too many claims wait")
  })
  const claim = Effect.fnUntraced(function* (run: RunId, owner: string, seen = -1) {
    const at = yield* Clock.currentTimeMillis
    const wanted: Wanted = { lane: run, size: 1, owner, seen, at }
    const isWithin = isInTransaction(sql, yield* Effect.fiber)
    const [taken] = isWithin ? [] : yield* decodeClaims(yield* take(wanted))
    const row = taken ?? (yield* claimWhenFree(sql, wanted))
    const head = headOf(row)
    // An event that a command from outside appends after this shows at the owner's first append, which is stale.
    const claimed: Claim = { head, entries: yield* wholeEntries(sql, head, row.entries) }
    return claimed
  })
  return spanned("RunOwnership.claim", claim)
})

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

type Leases =
  | "heartbeat"
  | "release"
  | "owners"
  | "recoverable"
  | "answerable"
  | "adopt"
  | "handOver"

const owners_max = 500

const readOwners = journalRowReader(
  Schema.Struct({
    owner: Schema.String,
    since: Schema.Number,
    seen_at: Schema.NullOr(Schema.Number),
    lease_until: Schema.NullOr(Schema.Number),
    guarded: Schema.Boolean,
    hosted: Schema.Array(Schema.String)
  }),
  "owners of runs"
)

const ms = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)::float8`

/** Those with a lock live until another process finds it free, whatever their leases say. */
const owners_statement = `SELECT p.owner, ${ms("p.since")} AS since, ${ms("p.seen_at")} AS seen_at,
    CASE WHEN p.seen_at IS NOT NULL THEN ${ms("p.expires_at")} END AS lease_until, p.guarded, p.agents AS hosted
  FROM troupe.processes p WHERE p.guarded OR p.expires_at > clock_timestamp()
  ORDER BY p.since DESC, p.owner LIMIT $1::int4`

/** Open runs of the address of `d` that came before it. `OFFSET 0` behind it makes the search a probe of an index. */
const earlier = `FROM troupe.run_details o WHERE o.tenant = d.tenant AND o.agent = d.agent
  AND o.address_key = d.address_key AND o.open AND o.ordinal < d.ordinal`

/** The same with their heads `e`. */
const earlierRun = earlier.replace("o WHERE", "o JOIN troupe.runs e ON e.run_id = o.run_id WHERE")

/** Runs with work to do whose owner has no lease or is the process itself, in their turns. */
const workFor = (
  sql: SqlClient.SqlClient,
  [owner, limit, hosted, ...more]: readonly [
    owner: string,
    limit: number,
    hosted: ReadonlyArray<Need>,
    ...more: ReadonlyArray<unknown>
  ],
  where: string
) =>
  readableHeads(
    sql.unsafe(
      `SELECT ${head_columns}, ${turn}
       FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id
       WHERE ${hosted_by("$3::text[]")} AND r.status > ${run_parked} AND r.status < ${run_over}
         AND (d.owner = $1::text OR ${no_owner}) AND ${where}
       ORDER BY turn, d.created_at, d.run_id LIMIT $2::int4`,
      [owner, Math.min(limit, runs_max), hosted, ...more]
    )
  )

export const leases = (
  sql: SqlClient.SqlClient,
  wake: (run: RunId) => Effect.Effect<void, SqlError.SqlError>
): Pick<RunOwnership["Service"], Leases> => ({
  heartbeat: (owner, lease_ms) =>
    done(
      sql.unsafe(
        `WITH old AS (DELETE FROM troupe.processes WHERE expires_at < clock_timestamp() - interval '1 day' AND NOT guarded AND owner <> $1::text)
         INSERT INTO troupe.processes (owner, seen_at, expires_at)
         VALUES ($1::text, clock_timestamp(), clock_timestamp() + $2::int4 * interval '1 millisecond')
         ON CONFLICT (owner) DO UPDATE SET seen_at = excluded.seen_at, expires_at = excluded.expires_at`,
        [owner, lease_ms]
      )
    ),
  release: (owner) =>
    done(sql.unsafe(`DELETE FROM troupe.processes WHERE owner = $1::text`, [owner])),
  owners: (limit) =>
    Effect.mapBoth(readOwners(sql, owners_statement, [Math.max(0, Math.min(limit, owners_max))]), {
      onSuccess: (rows) =>
        rows.map(({ lease_until, seen_at, ...row }) => ({
          ...row,
          seen_at: seen_at ?? undefined,
          lease_until: lease_until ?? undefined
        })),
      onFailure: orJournalError
    }),
  recoverable: (owner, hosted, limit) =>
    workFor(sql, [owner, limit, hosted], `NOT EXISTS (SELECT ${earlier} OFFSET 0)`),
  // Where the first run is parked no other of the address is, because a run that answers beside it waits for nobody.
  answerable: (owner, agents, hosted, limit) =>
    workFor(
      sql,
      [owner, limit, hosted, agents],
      `d.agent = ANY($4::text[]) AND EXISTS (SELECT ${earlierRun} AND e.status = ${run_parked} OFFSET 0)
         AND NOT EXISTS (SELECT ${earlierRun} AND e.status <> ${run_parked} OFFSET 0)`
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
