/**
 * Checks the work in the stores: runs in quarantine, work that waits for an operator, work that no process hosts, and late
 * messages. Changes nothing.
 */
import { Clock, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { StoreError } from "../../../services/StoreError.ts"
import { rowReader } from "../engine/DecodedRows.ts"
import type { Finding } from "./Finding.ts"
import { fault, ok, warning } from "./Finding.ts"
import type { Engine } from "./ServerChecks.ts"

type Failure = SqlError.SqlError | StoreError
type Check = Effect.Effect<ReadonlyArray<Finding>, Failure, SqlClient.SqlClient>

const ids_max = 20
/** A due message is late after this time, in ms. A living process takes it within seconds. */
const late_ms = 300_000

const readListed = rowReader(
  Schema.Struct({ n: Schema.Int, ids: Schema.Array(Schema.String) }),
  "counts"
)

/** What there should be no row of: a finding with the number of rows and the ids of the first 20. */
const none_expected: ReadonlyArray<{
  readonly check: string
  readonly id: string
  readonly from: string
  readonly level: (check: string, message: string) => Finding
  readonly some: (n: number) => string
  readonly none: string
}> = [
  {
    check: "quarantine",
    id: "run_id",
    from: "troupe.quarantine",
    level: fault,
    some: (n) =>
      `${n} runs are in quarantine: their journals do not fold, and nothing of them goes on`,
    none: "no run is in quarantine"
  },
  {
    check: "unknown",
    id: "run_id || ' ' || call",
    from: "troupe.unknown_calls",
    level: warning,
    some: (n) => `the outcome of ${n} calls is unknown: an operator has to settle them`,
    none: "no call's outcome is unknown"
  },
  {
    check: "dead_letters",
    id: "event_id",
    from: "troupe.dead_letters WHERE status = 0",
    level: warning,
    some: (n) => `${n} messages could not be delivered: replay or discard them`,
    none: "there is no dead letter"
  },
  {
    check: "dead_calls",
    id: "id",
    from: "troupe.tool_messages WHERE status = 2",
    level: warning,
    some: (n) => `${n} queued calls could not be run: replay or discard them`,
    none: "there is no dead call"
  }
]

const listed: Check = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(none_expected, ({ check, from, id, level, none, some }) =>
    Effect.map(
      readListed(
        sql,
        `SELECT (SELECT count(*)::int4 FROM ${from}) AS n, ARRAY(SELECT ${id}::text FROM ${from} LIMIT ${ids_max}) AS ids`
      ),
      ([{ ids, n } = { ids: [], n: 0 }]) =>
        n === 0 ? ok(check, none) : { ...level(check, some(n)), ids }
    )
  )
)

const readLiving = rowReader(Schema.Struct({ n: Schema.Int }), "processes")
const readUnhosted = rowReader(
  Schema.Struct({ need: Schema.String, n: Schema.Int }),
  "unhosted work"
)

/** Counts the processes that live, according to leases and locks. */
const living_statement = `SELECT count(*)::int4 AS n FROM troupe.processes p
  WHERE p.guarded OR p.expires_at > clock_timestamp()`

/** The agents, tools and versions that work waits for and that no living process hosts, as `RunList.unhosted` finds them. */
const unhosted_statement = `WITH living AS MATERIALIZED (
    SELECT p.agents FROM troupe.processes p WHERE p.guarded OR p.expires_at > clock_timestamp()),
  waits AS (
    SELECT t.agent AS need FROM troupe.agent_tasks t
    WHERE t.status < 2 AND NOT EXISTS (SELECT FROM living l WHERE t.agent = ANY (l.agents))
    UNION ALL
    SELECT n.need FROM troupe.run_details d CROSS JOIN LATERAL unnest(d.needs) AS n(need)
    WHERE d.open AND d.needs <> '{}' AND EXISTS (SELECT FROM living l WHERE d.agent = ANY (l.agents))
      AND NOT EXISTS (SELECT FROM living l WHERE l.agents @> d.needs AND d.agent = ANY (l.agents)))
  SELECT w.need, count(*)::int4 AS n FROM waits w GROUP BY w.need ORDER BY w.need LIMIT ${ids_max}`

/** Work that waits for a process. A PGlite has no other process while it is examined, so its work waits for the next start. */
const hosting = Effect.fnUntraced(function* (
  engine: Engine
): Effect.fn.Return<ReadonlyArray<Finding>, Failure, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const [living] = yield* readLiving(sql, living_statement)
  const needs = yield* readUnhosted(sql, unhosted_statement)
  const processes = living?.n ?? 0
  const count = needs.reduce((sum, { n }) => sum + n, 0)
  if (count === 0) return [ok("hosts", "no run waits for a process")]
  const ids = needs.map(({ n, need }) => `${need}: ${n}`)
  if (engine === "PGlite") return [{ ...ok("hosts", `${count} runs wait for the next start`), ids }]
  const wait = processes === 0 ? "no process lives" : "no living process hosts what they need"
  return [{ ...warning("hosts", `${count} runs wait, and ${wait}`), ids }]
})

const late: Check = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const before = (yield* Clock.currentTimeMillis) - late_ms
  const [found] = yield* readLiving(
    sql,
    "SELECT count(*)::int4 AS n FROM troupe.outbox_keys WHERE pending > 0 AND due_at < $1::text::int8",
    [String(before)]
  )
  const n = found?.n ?? 0
  return [
    n === 0
      ? ok("outbox", "no message is late")
      : warning("outbox", `messages of ${n} keys are due for over ${late_ms / 60_000} minutes`)
  ]
})

/** Runs all checks of the work. The database must have a schema that this version can read. */
export const examine = (engine: Engine): Check =>
  Effect.map(
    Effect.all([listed, hosting(engine), ...(engine === "PGlite" ? [] : [late])]),
    (findings) => findings.flat()
  )

export interface WaitingApproval {
  readonly id: string
  readonly run_id: string
  readonly agent: string
  /** The agent or specialist that asks for the tool. */
  readonly asked_by: string
  readonly tool_key: string
  /** The pins of the agent at the time when the run was accepted. */
  readonly pins: { readonly definition: string; readonly tools: string }
}

const Pinned = Schema.Struct({
  pins: Schema.Struct({ definition: Schema.String, tools: Schema.String })
})
const Question = Schema.Struct({
  tool_key: Schema.String,
  payload: Schema.Struct({ agent_name: Schema.String })
})
const readWaiting = rowReader(
  Schema.Struct({
    id: Schema.String,
    run_id: Schema.String,
    agent: Schema.String,
    question: Schema.fromJsonString(Question),
    accepted: Schema.fromJsonString(Pinned)
  }),
  "open questions"
)

const waiting_max = 1_000

/** The oldest 1,000 open questions, with the pins with which their runs were accepted. */
export const waiting: Effect.Effect<
  ReadonlyArray<WaitingApproval>,
  Failure,
  SqlClient.SqlClient
> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* readWaiting(
    sql,
    `SELECT a.id::text AS id, a.run_id::text AS run_id, d.agent, a.payload AS question, e.payload AS accepted FROM troupe.approvals a
           JOIN troupe.run_details d ON d.run_id = a.run_id JOIN troupe.run_pairs e ON e.run_id = a.run_id AND e.seq = 0
         WHERE a.status = 0 ORDER BY a.position LIMIT ${waiting_max}`
  )
  return rows.map(({ accepted, question, ...row }) => ({
    ...row,
    asked_by: question.payload.agent_name,
    tool_key: question.tool_key,
    pins: accepted.pins
  }))
})
