/**
 * Finds and removes runs that ended long ago and that nothing needs any more.
 *
 * Some runs are kept, however old they are: those that have not ended; those with an open question or a call of unknown outcome;
 * those in quarantine; those that a prompt may still read, because their conversation has a run that is open or ended recently;
 * and those that lack events or their task, which only a change of the database from outside causes.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { BlobStore } from "../../../services/BlobStore.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { chapters_max } from "../../../src/conversation/CompactionPlan.ts"
import { RunId, Tenant } from "../../../src/value/Ids.ts"
import { rowReader } from "../engine/DecodedRows.ts"
import { isWhole } from "../engine/EventRows.ts"
import { inTransaction } from "../engine/SqlFailure.ts"

/** How many runs of its conversation before it a prompt reads (`History.ts`). */
const read_max = chapters_max + 1
const int4_max = 2_147_483_647

/** SQL expression for when the run `row` ended, in ms since 1970. */
const endOf = (row: string) =>
  `(SELECT e.at FROM troupe.run_pairs e WHERE e.run_id = ${row}.run_id AND e.seq >= ${row}.length - 2
    AND e.seq + (e.next IS NOT NULL)::int4 = ${row}.length - 1)`

/**
 * Whether the run `p` ended before $1 and nothing needs it. Every table is read by a key, because the tables are large and
 * their plans were made while they were small.
 */
const is_expired = `(p.status BETWEEN 3 AND 5 AND ${endOf("p")} < $1::text::int8
  AND NOT EXISTS (SELECT FROM troupe.approvals a WHERE a.run_id = p.run_id AND a.status = 0)
  AND NOT EXISTS (SELECT FROM troupe.unknown_calls u WHERE u.run_id = p.run_id)
  AND EXISTS (SELECT FROM troupe.run_details d CROSS JOIN LATERAL (
      -- The first of the conversation that is not over.
      SELECT coalesce(min(t.ordinal), ${int4_max}) AS ordinal FROM troupe.agent_tasks t
      WHERE t.address_key = d.address_key AND t.agent = d.agent AND t.tenant = d.tenant AND t.status < 2
        AND t.conversation = d.conversation) open
    WHERE d.run_id = p.run_id AND (
      -- The conversation is as old as the run.
      (open.ordinal = ${int4_max} AND (SELECT coalesce((SELECT ${endOf("r")} FROM troupe.runs r WHERE r.run_id = t.id), t.created_at)
        FROM troupe.agent_tasks t WHERE t.tenant = d.tenant AND t.conversation = d.conversation
        ORDER BY t.ordinal DESC LIMIT 1) < $1::text::int8)
      -- It goes on, and no prompt of it reads this run.
      OR (SELECT count(*) FROM (SELECT FROM troupe.agent_tasks t WHERE t.tenant = d.tenant AND t.conversation = d.conversation
        AND t.ordinal > d.ordinal AND t.ordinal < open.ordinal AND t.status >= 2 LIMIT ${read_max}) later) = ${read_max})))
  IS TRUE`

const readPage = rowReader(
  Schema.Struct({
    run_id: RunId,
    length: Schema.Int,
    expired: Schema.Boolean,
    /** Whether the run has its task and all of its events; false for a run that is not expired. */
    whole: Schema.Boolean
  }),
  "runs"
)
const readRuns = rowReader(
  Schema.Struct({ run_id: RunId, tenant: Tenant, conversation: Schema.String }),
  "runs"
)
const readTenants = rowReader(Schema.Struct({ tenant: Tenant }), "tenants")

export interface Expired {
  readonly run: RunId
  /** The number of its events. */
  readonly length: number
}

export interface Page {
  readonly expired: ReadonlyArray<Expired>
  /** Runs that would be expired but lack events or their task. They are kept, to be repaired. */
  readonly broken: ReadonlyArray<RunId>
  /** The last run that was checked; undefined = there are no more. */
  readonly last: RunId | undefined
}

type Failure = SqlError.SqlError | StoreError

/**
 * Checks the next `limit` runs after `after`, by id. Gives those that ended before `before` (ms since 1970) and are not needed.
 */
export const find = Effect.fnUntraced(function* (
  before: number,
  limit: number,
  after: RunId | undefined
): Effect.fn.Return<Page, Failure, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* readPage(
    sql,
    `WITH p AS MATERIALIZED (SELECT r.run_id, r.status, r.length FROM troupe.runs r
         WHERE r.run_id > $2::text::uuid ORDER BY r.run_id LIMIT $3::int4),
       found AS MATERIALIZED (SELECT p.run_id, p.length, ${is_expired} AS expired FROM p)
       SELECT f.run_id, f.length, f.expired, CASE WHEN f.expired THEN ${isWhole("f")} ELSE false END AS whole
       FROM found f ORDER BY f.run_id`,
    [String(before), after ?? "00000000-0000-0000-0000-000000000000", limit]
  )
  const old = rows.filter(({ expired }) => expired)
  return {
    expired: old.flatMap(({ length, run_id, whole }) => (whole ? [{ run: run_id, length }] : [])),
    broken: old.flatMap(({ run_id, whole }) => (whole ? [] : [run_id])),
    last: rows.length < limit ? undefined : rows.at(-1)?.run_id
  }
})

/** The tables with rows of a run, and the column that has the run's id. */
const tables: ReadonlyArray<readonly [table: string, column: string]> = [
  ["run_pairs", "run_id"],
  ["approvals", "run_id"],
  ["call_records", "run_id"],
  ["agent_tasks", "id"],
  ["run_details", "run_id"],
  ["runs", "run_id"]
]

/** Statements for the conversations $1 of the tenants $2. They delete those without a task, with their messages and channels. */
const conversation_statements = [
  `DELETE FROM troupe.conversation_messages m USING unnest($1::text[], $2::text[]) AS w(id, tenant)
   WHERE m.tenant = w.tenant AND m.conversation = w.id
     AND NOT EXISTS (SELECT FROM troupe.agent_tasks t WHERE t.tenant = w.tenant AND t.conversation = w.id)`,
  `DELETE FROM troupe.channel_bindings b USING unnest($1::text[], $2::text[]) AS w(id, tenant)
   WHERE b.conversation = w.id AND b.tenant = w.tenant
     AND NOT EXISTS (SELECT FROM troupe.agent_tasks t WHERE t.tenant = w.tenant AND t.conversation = w.id)`,
  `DELETE FROM troupe.budget_accounts b USING unnest($1::text[], $2::text[]) AS w(id, tenant)
   WHERE b.holder = to_json(w.id)::text AND b.tenant = w.tenant AND b.scope = 'conversation'
     AND NOT EXISTS (SELECT FROM troupe.agent_tasks t WHERE t.tenant = w.tenant AND t.conversation = w.id)`,
  `DELETE FROM troupe.conversations c USING unnest($1::text[], $2::text[]) AS w(id, tenant)
   WHERE c.id = w.id AND c.tenant = w.tenant
     AND NOT EXISTS (SELECT FROM troupe.agent_tasks t WHERE t.tenant = w.tenant AND t.conversation = w.id)`
]

const removeLocked = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  before: number,
  runs: ReadonlyArray<RunId>
): Effect.fn.Return<number, Failure, BlobStore> {
  // Sending a message locks its conversation. A conversation that is locked is skipped until the next pass.
  const held = yield* readRuns(
    sql,
    `SELECT d.run_id, c.tenant, c.id AS conversation FROM troupe.run_details d
         JOIN troupe.conversations c ON c.id = d.conversation AND c.tenant = d.tenant
       WHERE d.run_id = ANY ($1::text[]::uuid[]) ORDER BY c.tenant, c.id FOR UPDATE OF c SKIP LOCKED`,
    [runs]
  )
  const gone = yield* readRuns(
    sql,
    `SELECT p.run_id, d.tenant, d.conversation FROM troupe.runs p JOIN troupe.run_details d ON d.run_id = p.run_id
       WHERE p.run_id = ANY ($2::text[]::uuid[]) AND ${is_expired}`,
    [String(before), held.map(({ run_id }) => run_id)]
  )
  if (gone.length === 0) return 0
  const ids = gone.map(({ run_id }) => run_id)
  const holders = yield* readTenants(
    sql,
    "SELECT DISTINCT tenant FROM troupe.blob_uses WHERE run = ANY ($1::text[]::uuid[]) ORDER BY tenant",
    [ids]
  )
  const blobs = yield* BlobStore
  for (const { tenant } of holders) yield* blobs.release(tenant, ids)
  const conversations = [gone.map(({ conversation }) => conversation), gone.map((of) => of.tenant)]
  yield* sql.unsafe(
    `DELETE FROM troupe.conversation_messages m USING unnest($1::text[], $2::text[], $3::text[]::uuid[]) AS w(id, tenant, run_id)
     WHERE m.tenant = w.tenant AND m.conversation = w.id AND m.run_id = w.run_id`,
    [...conversations, ids]
  )
  for (const [table, column] of tables) {
    yield* sql.unsafe(`DELETE FROM troupe.${table} WHERE ${column} = ANY ($1::text[]::uuid[])`, [
      ids
    ])
  }
  for (const statement of conversation_statements) yield* sql.unsafe(statement, conversations)
  return ids.length
})

/**
 * Removes those of the runs that are still expired, in one transaction. Gives how many it removed. The costs of turns are kept.
 */
export const remove = (
  before: number,
  runs: ReadonlyArray<RunId>
): Effect.Effect<number, Failure, SqlClient.SqlClient | BlobStore> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => inTransaction(sql)(removeLocked(sql, before, runs)))
