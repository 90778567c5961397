/**
 * Lists of runs in SQL, for operators.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlConnection, SqlError } from "effect/sql"
import type { RunQuery, UnhostedQuery, UnknownQuery } from "../../../services/RunList.ts"
import { RunList } from "../../../services/RunList.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { bulk_max, counted_max } from "../../../src/operation/Page.ts"
import { AgentName, CallId, ConversationId, RunId, Tenant } from "../../../src/value/Ids.ts"
import { needOf } from "../../../src/run/Needs.ts"
import type { RunItem, WaitingFor } from "../../../src/run/RunItem.ts"
import { message_shown, runItem } from "../../../src/run/RunItem.ts"
import type { UnknownCall } from "../../../src/run/UnknownCall.ts"
import {
  approvalCode,
  isQuarantined,
  RunCode,
  run_over,
  run_parked,
  runCode,
  runStatus
} from "./Codes.ts"
import { letterCode } from "../engine/StoredStatus.ts"
import { readablePage, readableRows, rowDecoder, rowReader } from "../engine/DecodedRows.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import {
  agent_said,
  agentMember,
  beginningIn,
  StoredText,
  traceMember
} from "../engine/StoredText.ts"
import { TenantReads } from "../engine/TenantReads.ts"
import { taskOf, TaskRow } from "./SqlTaskStore.ts"

const page_max = 500
/** One more than a bulk takes, which tells that there are more. */
const matching_max = bulk_max + 1

/** How many characters are read of the JSON of a message: an escape has six at most. */
const message_units = 6 * message_shown + 2

const Row = Schema.Struct({
  ...TaskRow.fields,
  /** The beginning of its JSON text. */
  message: Schema.String.check(Schema.isStartingWith('"')),
  /** Null before the run is created. */
  run_status: Schema.NullOr(RunCode),
  /** The agent to which its last handoff passed the run; null without a handoff. */
  handed_to: Schema.NullOr(AgentName),
  /** Whether it has calls of unknown outcome. */
  has_unknown: Schema.Boolean
})
type Row = typeof Row.Type
const decodeRuns = readableRows(Row, "runs")

const decodeUnknown = readableRows(
  Schema.Struct({
    run_id: RunId,
    call: Schema.fromJsonString(CallId),
    tool: StoredText,
    agent: AgentName,
    conversation: ConversationId,
    since: Schema.BigInt
  }),
  "unknown calls"
)
const readCounts = rowReader(
  Schema.Struct({ tool: StoredText, calls: Schema.Int }),
  "counts of unknown calls"
)
const readLiving = rowReader(
  Schema.Struct({ agents: Schema.Array(Schema.String) }),
  "agents of processes"
)
const readUnhosted = rowReader(
  Schema.Struct({
    tenant: Tenant,
    need: Schema.String,
    count: Schema.Int,
    oldest_at: Schema.Number
  }),
  "counts of work that no process hosts"
)

// Reads the last member of a handoff, which is canonical JSON. A row that is not readable as one counts as no handoff, so that
// the list does not fail.
const handed_to = `substring(e.payload FROM '"to":"([a-z][a-z0-9_-]{0,63})"\\}$')`
const handoffs = `SELECT ${handed_to} FROM troupe.run_pairs e WHERE e.run_id = t.id AND e.type = 'HandedOff'`

// Of what a task says beside its message, a list shows only the trace and the agent.
const columns = `t.id, t.tenant, t.agent, t.address_key, t.conversation, t.ordinal, t.status, t.reason,
  left(t.message, ${message_units}) AS message, t.by,
  CASE WHEN t.trace_id LIKE '{%'
    THEN concat('{"trace_id":', ${traceMember("t.trace_id")}, ',"agent":' || ${agentMember("t.trace_id")}, '}')
  ELSE t.trace_id END AS trace_id,
  t.created_at, r.status AS run_status,
  (${handoffs} ORDER BY e.seq DESC LIMIT 1) AS handed_to,
  EXISTS (SELECT FROM troupe.unknown_calls u WHERE u.run_id = t.id) AS has_unknown`

/**
 * The condition for a status. For a status of an open run it repeats `status < 3`, without which the index of open runs is not
 * used.
 */
const ofStatus = (status: NonNullable<RunQuery["status"]>): string => {
  if (status === "open") return `(r.status IS NULL OR r.status < ${run_over})`
  const code = runCode(status)
  if (status === "pending") return `(r.status IS NULL OR r.status = ${code})`
  if (status === "awaiting_approval") return `r.status IN (${code}, ${run_parked})`
  return code < run_over ? `r.status = ${code} AND r.status < ${run_over}` : `r.status = ${code}`
}

/** The ids of runs that wait. They are few among all, and have an index of their own. */
const waits = (sql: SqlClient.SqlClient, waiting: WaitingFor, tenant: string) =>
  waiting === "approval"
    ? sql`(SELECT DISTINCT a.run_id FROM troupe.approvals a WHERE a.tenant = ${tenant} AND a.status = 0 OFFSET 0)`
    : sql`(SELECT DISTINCT u.run_id FROM troupe.unknown_calls u WHERE u.tenant = ${tenant} OFFSET 0)`

/** Whether the query asks only for runs that are not over. Their tasks are not over either, and those have an index. */
const areOpen = ({ status, waiting }: RunQuery): boolean =>
  waiting === undefined &&
  (status === "open" || (status !== undefined && runCode(status) < run_over))

/**
 * The tasks among which a query looks. The task of a waiting run is found from that run: a planner that expects few waiting runs
 * would otherwise read all of them for each task.
 */
const tasksOf = (sql: SqlClient.SqlClient, query: RunQuery) =>
  query.waiting !== undefined
    ? sql`(SELECT o.* FROM ${waits(sql, query.waiting, query.tenant)} w CROSS JOIN LATERAL (
        SELECT k.* FROM troupe.agent_tasks k WHERE k.id = w.run_id AND k.tenant = ${query.tenant} AND k.status < 2 OFFSET 0
      ) o OFFSET 0)`
    : sql`troupe.agent_tasks`

/**
 * When a task was accepted, as a list is ordered by it. Open tasks have an index that no other statement can use, as this one can
 * use no other: a planner with statistics from when there were few tasks takes any index for as good.
 */
const timeOf = (query: RunQuery, row: string): string =>
  areOpen(query) ? `(${row}.created_at + 0)` : `${row}.created_at`

const selected = (sql: SqlClient.SqlClient, query: RunQuery, columns: string, most: number) => {
  const { after, agent, created_from, created_to, limit, status, tenant } = query
  const time = (row: string) => sql.literal(timeOf(query, row))
  return sql<SqlConnection.Row>`
    SELECT ${sql.literal(columns)} FROM ${tasksOf(sql, query)} t
    LEFT JOIN LATERAL (SELECT s.status FROM troupe.runs s WHERE s.run_id = t.id OFFSET 0) r ON true
    WHERE ${sql.and([
      sql`t.tenant = ${tenant}`,
      ...(agent === undefined
        ? []
        : [
            sql`(COALESCE(${sql.literal(agent_said)}, t.agent) = ${agent} OR ${agent} IN (${sql.literal(handoffs)}))`
          ]),
      ...(areOpen(query) ? [sql`t.status + 1 < 3`] : []),
      ...(status === undefined ? [] : [sql.literal(ofStatus(status))]),
      ...(created_from === undefined ? [] : [sql`t.created_at >= ${created_from}::int8`]),
      ...(created_to === undefined ? [] : [sql`t.created_at < ${created_to}::int8`]),
      ...(after === undefined
        ? []
        : [
            sql`(${time("t")}, t.id) < (SELECT ${time("p")}, p.id FROM troupe.agent_tasks p
              WHERE p.id = ${after}::uuid AND p.tenant = ${tenant})`
          ])
    ])} ORDER BY ${time("t")} DESC, t.id DESC LIMIT ${Math.min(limit, most)}::int4`
}

const decodeIds = rowDecoder(Schema.Struct({ id: RunId }), "ids of runs")

const matching = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, query: RunQuery) {
  const rows = yield* decodeIds(yield* selected(sql, query, "t.id", matching_max))
  return rows.map(({ id }) => id)
})

const unknownIn = (
  sql: SqlClient.SqlClient,
  { after, agent, limit, runs, since_to, tenant, tool }: UnknownQuery
): Effect.Effect<ReadonlyArray<UnknownCall>, StoreError> =>
  sql
    .unsafe(
      `SELECT u.run_id, u.call, u.tool, d.agent, d.conversation, u.since
       FROM troupe.unknown_calls u JOIN troupe.run_details d ON d.run_id = u.run_id
       WHERE u.tenant = $1::text AND ($3::text[] IS NULL OR u.run_id = ANY($3::text[]::uuid[]))
         AND ($4::text IS NULL OR u.tool = $4::text) AND ($5::text IS NULL OR d.agent = $5::text)
         AND u.since < $6::int8
         AND ($7::int8 IS NULL OR (u.since, u.run_id, u.call) > ($7::int8, $8::uuid, $9::text))
       ORDER BY u.since, u.run_id, u.call LIMIT $2::int4`,
      [
        tenant,
        Math.min(limit, matching_max),
        runs === undefined ? null : [...runs],
        tool === undefined ? null : JSON.stringify(tool),
        agent ?? null,
        since_to ?? Number.MAX_SAFE_INTEGER,
        after?.since ?? null,
        after?.run_id ?? null,
        after === undefined ? null : JSON.stringify(after.call)
      ]
    )
    .pipe(
      Effect.flatMap(decodeUnknown),
      Effect.mapBoth({
        onSuccess: (rows) => rows.map((row) => ({ ...row, since: Number(row.since) })),
        onFailure: orStoreError
      })
    )

/**
 * Counts the work that no process hosts, given a query for the living processes. Few tasks are open, and fewer runs need more
 * than their agent; each of the two has an index. An owner with a lock counts as living until its lock is found free. A run whose
 * agent no process hosts is counted once, as its task.
 */
const unhostedBeside = (living: string): string => `WITH living AS MATERIALIZED (
    ${living} UNION ALL SELECT $1::text[]),
  names AS MATERIALIZED (SELECT DISTINCT unnest(l.agents) AS name FROM living l),
  waits AS (
    SELECT t.tenant, t.agent AS need, t.created_at FROM troupe.agent_tasks t
    WHERE t.status < 2 AND ($2::text IS NULL OR t.tenant = $2::text)
      AND t.agent NOT IN (SELECT name FROM names)
    UNION ALL
    SELECT d.tenant, n.need, d.created_at FROM troupe.run_details d CROSS JOIN LATERAL unnest(d.needs) AS n(need)
    WHERE d.open AND d.needs <> '{}' AND ($2::text IS NULL OR d.tenant = $2::text)
      AND d.agent IN (SELECT name FROM names)
      AND NOT EXISTS (SELECT FROM living l WHERE l.agents @> d.needs AND d.agent = ANY (l.agents)))
  SELECT w.tenant, w.need, count(*)::int4 AS count, min(w.created_at)::float8 AS oldest_at
  FROM waits w GROUP BY w.tenant, w.need ORDER BY w.tenant, w.need LIMIT ${page_max}`

const living_statement =
  "SELECT p.agents FROM troupe.processes p WHERE p.guarded OR p.expires_at > clock_timestamp()"
const unhosted_of_all = unhostedBeside(living_statement)
const unhosted_of_tenant = unhostedBeside(
  "SELECT ARRAY(SELECT json_array_elements_text(l)) AS agents FROM json_array_elements($3::text::json) AS l"
)

/** Work that no process hosts. A tenant's role may not read which processes live, so the engine's role reads that first. */
const unhosted = (
  sql: SqlClient.SqlClient,
  reads: TenantReads["Service"],
  { hosted, tenant }: UnhostedQuery
) => {
  const found =
    tenant === undefined
      ? readUnhosted(sql, unhosted_of_all, [hosted, null])
      : Effect.flatMap(readLiving(sql, living_statement), (living) => {
          const agents = JSON.stringify(living.map(({ agents }) => agents))
          return reads.of(tenant)(readUnhosted(sql, unhosted_of_tenant, [hosted, tenant, agents]))
        })
  return Effect.mapBoth(found, {
    onSuccess: (all) => all.map(({ need, ...row }) => ({ ...row, ...needOf(need) })),
    onFailure: orStoreError
  })
}

const statusOf = ({ run_status }: Row): RunItem["status"] =>
  run_status === null ? "pending" : runStatus(run_status)

/** A page of runs. Those that await approval have their calls of unknown outcome with them. */
const page = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, query: RunQuery) {
  const rows = yield* readablePage<Row, string, SqlError.SqlError, never>({
    limit: Math.min(query.limit, page_max),
    after: query.after,
    rowsOf: (after, limit) =>
      selected(sql, { ...query, after: after as RunId | undefined, limit }, columns, page_max),
    read: decodeRuns,
    keyOf: (row) => row["id"]
  })
  const runs = rows.flatMap((row) =>
    row.has_unknown && statusOf(row) === "awaiting_approval" ? [row.id] : []
  )
  const { tenant } = query
  const unknown = runs.length === 0 ? [] : yield* unknownIn(sql, { tenant, runs, limit: 500 })
  return rows.map((row) =>
    runItem(
      taskOf({ ...row, message: beginningIn(row.message) }),
      statusOf(row),
      unknown.filter(({ run_id }) => run_id === row.id),
      {
        handed_to: row.handed_to ?? undefined,
        quarantined: row.run_status !== null && isQuarantined(row.run_status)
      }
    )
  )
})

const readOpen = rowReader(
  Schema.Struct({
    owner: Schema.NullOr(Schema.String),
    status: RunCode,
    created_at: Schema.Number
  }),
  "runs that are not over"
)

const open = (sql: SqlClient.SqlClient, tenant: Tenant, limit: number) =>
  Effect.map(
    readOpen(
      sql,
      `SELECT d.owner, r.status, d.created_at::float8 AS created_at FROM (
         SELECT o.run_id, o.owner, o.created_at FROM troupe.run_details o WHERE o.tenant = $1::text AND o.open LIMIT $2::int4) d
       JOIN troupe.runs r ON r.run_id = d.run_id WHERE r.status < ${run_over}`,
      [tenant, Math.max(0, Math.min(limit, counted_max + 1))]
    ),
    (rows) =>
      rows.map(({ created_at, owner, status }) => ({
        created_at,
        owner: owner ?? undefined,
        status: runStatus(status)
      }))
  )

const readStanding = rowReader(
  Schema.Struct({
    running: Schema.Int,
    parked: Schema.Int,
    questions: Schema.Int,
    oldest: Schema.NullOr(Schema.Int),
    dead_letters: Schema.Int
  }),
  "numbers of what stands"
)

/** Each number is read from an index that has those rows alone. */
const standing_statement = `SELECT
  (SELECT count(*)::int4 FROM troupe.runs WHERE status > ${run_parked} AND status < ${run_over}) AS running,
  (SELECT count(*)::int4 FROM troupe.runs WHERE status = ${run_parked}) AS parked,
  q.questions,
  (SELECT (a.payload::json ->> 'requested_at')::float8 FROM troupe.approvals a
    WHERE a.status = ${approvalCode("pending")} AND a.position = q.first) AS oldest,
  (SELECT count(*)::int4 FROM troupe.dead_letters WHERE status = ${letterCode("dead")}) AS dead_letters
  FROM (SELECT count(*)::int4 AS questions, min(position) AS first FROM troupe.approvals WHERE status = ${approvalCode("pending")}) q`

const standing = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [found] = yield* readStanding(sql, standing_statement)
  if (found === undefined) return yield* Effect.die(new Error("no numbers of what stands"))
  const { oldest, ...numbers } = found
  const unknown = yield* readCounts(
    sql,
    "SELECT tool, count(*)::int4 AS calls FROM troupe.unknown_calls GROUP BY tool ORDER BY tool LIMIT 500"
  )
  return { ...numbers, oldest_question_at: oldest ?? undefined, unknown }
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  return RunList.of({
    list: (query) => Effect.mapError(reads.of(query.tenant)(page(sql, query)), orStoreError),
    matching: (query) =>
      Effect.mapError(reads.of(query.tenant)(matching(sql, query)), orStoreError),
    unknown: (query) =>
      Effect.mapError(reads.of(query.tenant)(unknownIn(sql, query)), orStoreError),
    open: (tenant, limit) =>
      Effect.mapError(reads.of(tenant)(open(sql, tenant, limit)), orStoreError),
    unhosted: (query) => unhosted(sql, reads, query),
    standing: Effect.mapError(standing(sql), orStoreError)
  })
})

export const layer: Layer.Layer<RunList, never, SqlClient.SqlClient | TenantReads> = Layer.effect(
  RunList,
  make
)
