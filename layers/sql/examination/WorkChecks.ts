/**
 * Checks the work in the stores: runs in quarantine, work that waits for an operator, work that no process hosts, and late
 * messages. Changes nothing.
 */
import { Clock, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { StoreError } from "../../../services/StoreError.ts"
import { rowReader } from "../engine/DecodedRows.ts"
import type { Finding } from "../../../src/value/Finding.ts"
import { ids_max, noneExpected, ok, warning } from "../../../src/value/Finding.ts"
import type { Engine } from "./ServerChecks.ts"

type Failure = SqlError.SqlError | StoreError
type Check = Effect.Effect<ReadonlyArray<Finding>, Failure, SqlClient.SqlClient>

/** A due message is late after this time, in ms. A living process takes it within seconds. */
const late_ms = 300_000

const readListed = rowReader(
  Schema.Struct({ n: Schema.Int, ids: Schema.Array(Schema.String) }),
  "counts"
)

/** Where the rows are of which there should be none, and what names them. */
const sources = [
  ["quarantine", "run_id", "troupe.quarantine"],
  ["unknown", "run_id || ' ' || call", "troupe.unknown_calls"],
  ["dead_letters", "event_id", "troupe.dead_letters WHERE status = 0"],
  ["dead_calls", "id", "troupe.tool_messages WHERE status = 2"]
] as const

const listed: Check = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(sources, ([check, id, from]) =>
    Effect.map(
      readListed(
        sql,
        `SELECT (SELECT count(*)::int4 FROM ${from}) AS n, ARRAY(SELECT ${id}::text FROM ${from} LIMIT ${ids_max}) AS ids`
      ),
      ([{ ids, n } = { ids: [], n: 0 }]) => noneExpected(check, ids, n)
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
export const waiting = Effect.gen(function* () {
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
