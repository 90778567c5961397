/**
 * What a run reads of the tables does not depend on how many runs there were before it, nor on when the database gathered
 * statistics: sessions keep the plans that they made while the tables were empty, or while they were small.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import type { SqlNotify } from "../../layers/sql/engine/SqlNotify.ts"
import * as SqlOwners from "../../layers/sql/stores/SqlOwners.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunList } from "../../services/RunList.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { Stores } from "../../services/Stores.ts"
import { either } from "../Long.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import * as H from "../runtime/Harness.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import * as EmptyPglite from "./EmptyPglite.ts"
import { onEngines } from "./Engines.ts"

/** Runs that are over, and what they left in each table. */
const past = either(1_000, 20_000)
/** Runs that wait for people in another process, and messages that wait for an agent of another. */
const elsewhere = 2_000
/** Conversations before those, and behind them. */
const first = 12
const last = either(24, 1_000)
/**
 * Rows of one table that a run may read on the average, with its share of the sweeps, which look at all runs that wait, and
 * of the lists, which may look at all runs once. A statement of each run that reads those that wait would need 2,000.
 */
const rows_max = 900

const options: H.Options = {
  tools: {
    look: H.reads((n) => Effect.succeed(n)),
    change: H.asks((n) => Effect.succeed(n))
  },
  script: ({ transcript }) => {
    const asked = transcript.findLast((entry) => entry.role === "user")
    const done = transcript.at(-1)?.role === "tool"
    return done ? text("done") : call(asked?.text === "change" ? "change" : "look", { n: 1 })
  },
  config: { sweep_ms: 1_000, audit_first_ms: 1_000, park_ms: 10, idle_ms: 10 }
}

/** Two messages of one conversation, the second behind a person's answer; the first is sent twice. */
const converse = Effect.fnUntraced(function* (conversation: string) {
  const runtime = yield* AgentRuntime
  const send = (text: string, idempotency_key?: string) =>
    runtime.send(
      {
        agent: H.agentName,
        conversation: ConversationId.make(conversation),
        text,
        ...(idempotency_key === undefined ? undefined : { idempotency_key })
      },
      H.alice
    )
  yield* send("look", conversation)
  const { task } = yield* send("look", conversation)
  yield* H.ended(task.id, conversation)
  const changing = (yield* send("change")).task.id
  const { approval } = yield* H.question(changing, 1, conversation)
  yield* H.decide(approval, H.approve)
  yield* H.ended(changing, conversation)
})

/** What operators and customers look at. */
const look = Effect.fnUntraced(function* (conversation: ConversationId) {
  const runs = yield* RunList
  const records = yield* ApprovalRecords
  const conversations = yield* ConversationStore
  const { tenant } = H
  yield* conversations.get(tenant, conversation)
  yield* conversations.messages(tenant, conversation, -1, 50)
  const page = { tenant, limit: 50 }
  for (const query of [page, { ...page, begun_by: H.alice.id }, { ...page, words: ["look"] }]) {
    yield* conversations.list(query)
    const { next } = yield* conversations.list({ ...query, limit: 1 })
    yield* conversations.list({ ...query, after: next })
  }
  yield* TaskStore.use((tasks) => tasks.endedBefore(tenant, conversation, 3, 50))
  yield* runs.list({ tenant, limit: 50 })
  for (const status of ["pending", "processing", "awaiting_approval"] as const) {
    yield* runs.list({ tenant, limit: 50, status })
  }
  yield* runs.matching({ tenant, limit: 50, status: "open" })
  for (const waiting of ["approval", "unknown"] as const) {
    yield* runs.list({ tenant, limit: 50, waiting })
  }
  yield* runs.unknown({ tenant, limit: 50 })
  yield* H.unhosted
  yield* records.list({ tenant, limit: 50, status: "pending" })
})

const work = (phase: string, conversations: number) =>
  Effect.andThen(
    Effect.forEach(
      Array.from({ length: conversations }, (_, n) => `${phase}-${n}`),
      converse,
      { concurrency: 32, discard: true }
    ),
    look(ConversationId.make(`${phase}-0`))
  )

/** Rows as runs leave them that are over, all of one tenant, one agent and one person. */
const history = `
  WITH made AS MATERIALIZED (SELECT gen_random_uuid() AS id, i FROM generate_series(1, ${past}) i),
  run AS (INSERT INTO troupe.runs (run_id, tenant, epoch, length, status) SELECT id, 'acme', 1, 3, 3 FROM made),
  detail AS (INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, open, created_at)
    SELECT id, 'acme', 'tester', 'past-' || i, 'past-' || i, 1, false, i FROM made),
  event AS (INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
    SELECT id, seq, i, 'RunClaimed', '{"_tag":"RunClaimed","epoch":1,"owner":"gone"}' FROM made CROSS JOIN generate_series(0, 2) seq),
  conversation AS (
    INSERT INTO troupe.conversations (tenant, id, agent, address_key, initiated_by, begun_by, created_at, tasks, messages)
    SELECT 'acme', 'past-' || i, 'tester', 'past-' || i, 'customer', '"alice"', i, 1, 1 FROM made),
  message AS (
    INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
    SELECT 'acme', 'past-' || i, 0, 'user', '"look"', 'api', id, i FROM made),
  task AS (INSERT INTO troupe.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, status, idempotency_key,
      message_id, message, by, trace_id, channel_origin, created_at)
    SELECT id, 'acme', 'tester', 'past-' || i, 'past-' || i, 1, 2, '"past-' || i || '"', gen_random_uuid(), '"look"', '"alice"',
      '"0af7651916cd43dd8448eb211c80319c"', 'api', i FROM made),
  approval AS (INSERT INTO troupe.approvals (id, tenant, run_id, status, payload) SELECT gen_random_uuid(), 'acme', id, 1, '{}' FROM made)
  INSERT INTO troupe.dead_letters (event_id, tenant, handler_name, key, payload, attempts, failures, dead_at, place)
  SELECT gen_random_uuid(), 'acme', 'webhook', 'k', '{}', 1, '{}', i, i FROM made`

/** Rows as they are left by runs that wait for people, whose owner lives, and by messages to an agent of another process. */
const others = [
  `INSERT INTO troupe.processes (owner, expires_at) VALUES ('elsewhere', clock_timestamp() + interval '1 day')`,
  `WITH made AS MATERIALIZED (SELECT gen_random_uuid() AS id, i FROM generate_series(1, ${elsewhere}) i),
  run AS (INSERT INTO troupe.runs (run_id, tenant, epoch, length, status) SELECT id, 'acme', 1, 0, -1 FROM made),
  detail AS (INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, owner, created_at)
    SELECT id, 'acme', 'tester', 'waits-' || i, 'waits-' || i, 1, 'elsewhere', i FROM made),
  approval AS (INSERT INTO troupe.approvals (id, tenant, run_id, payload) SELECT gen_random_uuid(), 'other', id, '{}' FROM made),
  task AS (INSERT INTO troupe.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, status, message_id, message,
      by, trace_id, channel_origin, created_at)
    SELECT id, 'acme', 'tester', 'waits-' || i, 'waits-' || i, 1, 1, gen_random_uuid(), '"look"', '"alice"',
      '"0af7651916cd43dd8448eb211c80319c"', 'api', i FROM made),
  key AS (INSERT INTO troupe.outbox_keys (tenant, key, seq, pending, place, topic, agent)
    SELECT 'acme', 'waits-' || i, 1, 1, i, 'agent.task.dispatched', 'elsewhere' FROM made)
  INSERT INTO troupe.outbox (tenant, key, key_seq, id, place, topic, agent, payload, created_at, replayed)
  SELECT 'acme', 'waits-' || i, 1, gen_random_uuid(), i, 'agent.task.dispatched', 'elsewhere', '{}', i, false FROM made`
]

const tables = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql.unsafe<{ readonly name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = 'troupe'::regnamespace AND relkind = 'r'`
    ),
    (rows) => rows.map(({ name }) => name)
  )
)

/** Statistics are gathered when the test says so, and at no other time. */
const scenario = Effect.fnUntraced(function* (analyses: boolean) {
  const sql = yield* SqlClient.SqlClient
  for (const table of yield* tables) {
    yield* sql.unsafe(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
  }
  const process = yield* H.boot(options)
  yield* process.run(work("first", first))
  if (analyses) {
    yield* sql.unsafe("ANALYZE")
    // Each session makes its plans again, and keeps them.
    yield* process.run(work("second", first))
  }
  for (const statement of [history, ...others]) yield* sql.unsafe(statement)
  yield* process.run(work("last", last))
  yield* process.stop
}, Effect.scoped)

/** Rows read of each table, by an index or whole, since the database was made. */
const rowsRead = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe<{ readonly name: string; readonly rows: number; readonly whole: number }>(
    `SELECT relname AS name, sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS rows, sum(seq_tup_read)::float8 AS whole
     FROM (SELECT schemaname, relname, seq_tup_read, idx_tup_fetch FROM pg_stat_user_tables
       UNION ALL SELECT schemaname, relname, seq_tup_read, idx_tup_fetch FROM pg_stat_xact_user_tables) tables
     WHERE schemaname = 'troupe' GROUP BY relname ORDER BY 2 DESC`
  )
)

/** What actors remember is not kept in the database. */
const stores = Layer.merge(SqlStores.layer, EphemeralStore.layer)

type Store = Stores | EphemeralStore.EphemeralStore | SqlClient.SqlClient | SqlNotify
type Measured = Effect.Effect<Effect.Success<typeof rowsRead>, unknown>

/** PGlite has one session, which knows what it has read. */
const onPglite = (run: Effect.Effect<void, unknown, Store>): Measured =>
  Effect.provide(Effect.andThen(run, rowsRead), stores.pipe(Layer.provideMerge(EmptyPglite.layer)))

/** A session of a server says at its end what it has read. */
const ended = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND backend_type = 'client backend'`)
).pipe(
  Effect.repeat({ until: (rows) => rows.length === 0, schedule: Schedule.spaced("20 millis") })
)

const onPostgres = (run: Effect.Effect<void, unknown, Store>): Measured =>
  Effect.gen(function* () {
    const url = Redacted.make(yield* EmbeddedPostgres.migrated)
    yield* Effect.provide(
      run,
      SqlOwners.layer.pipe(
        Layer.provideMerge(stores),
        Layer.provideMerge(Layer.fresh(Postgres.layer({ url })))
      )
    )
    return yield* Effect.provide(
      Effect.andThen(ended, rowsRead),
      Layer.fresh(Postgres.layer({ url, connections_max: 5 }))
    )
  })

for (const [engine, measured] of [
  ["PGlite", onPglite],
  ["PostgreSQL", onPostgres]
] as const) {
  describe(engine, () => {
    for (const analyses of [false, true].slice(0, either(1, 2))) {
      const when = analyses ? "gathered while there were few runs" : "never gathered"
      it.live(
        `a run reads its own rows, with ${past} runs before it and statistics ${when}`,
        () =>
          Effect.gen(function* () {
            const made = 2 * ((analyses ? 2 : 1) * first + last)
            for (const { name, rows, whole } of yield* measured(scenario(analyses))) {
              assert.isBelow(rows / made, rows_max, `rows of ${name}, ${whole} of them whole`)
            }
          }),
        either(120_000, 600_000)
      )
    }
  })
}

/** Runs of the tenant that wait for people, of which the database has gathered no statistics. */
const waiting = `
  WITH made AS MATERIALIZED (SELECT gen_random_uuid() AS id, i FROM generate_series(1, 1000) i),
  run AS (INSERT INTO troupe.runs (run_id, tenant, epoch, length, status) SELECT id, 'acme', 1, 0, -1 FROM made),
  approval AS (INSERT INTO troupe.approvals (id, tenant, run_id, payload) SELECT gen_random_uuid(), 'acme', id, '{}' FROM made),
  call AS (INSERT INTO troupe.unknown_calls (run_id, call, tenant, tool, since)
    SELECT id, '"0/0.0"', 'acme', '"change"', i FROM made)
  INSERT INTO troupe.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, status, message_id, message,
    by, trace_id, channel_origin, created_at)
  SELECT id, 'acme', 'tester', 'waits-' || i, 'waits-' || i, 1, 1, gen_random_uuid(), '"look"', '"alice"',
    '"0af7651916cd43dd8448eb211c80319c"', 'api', i FROM made`

describe("a list of what waits", () => {
  it.live("reads each question and each call once, however many wait", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const runs = yield* RunList
      yield* sql.unsafe(waiting)
      const read = Effect.map(rowsRead, (all) => new Map(all.map(({ name, rows }) => [name, rows])))
      for (const [kind, table] of [
        ["approval", "approvals"],
        ["unknown", "unknown_calls"]
      ] as const) {
        const before = (yield* read).get(table) ?? 0
        const found = yield* runs.list({ tenant: H.tenant, limit: 50, waiting: kind })
        assert.lengthOf(found, 50)
        assert.isBelow(((yield* read).get(table) ?? 0) - before, 10_000, kind)
      }
    }).pipe(Effect.provide(stores.pipe(Layer.provideMerge(EmptyPglite.layer))))
  )

  // Without statistics PostgreSQL expects so few open tasks that it reads and sorts all of them, each page: 1,000 here.
  for (const [which, when, most] of [
    ["tasks that are open", "never gathered", 2_100],
    ["tasks of its page", "gathered while there were few runs", 200]
  ] as const) {
    it.live(`reads no more than the ${which}, with statistics ${when}`, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const runs = yield* RunList
        yield* sql.unsafe(history)
        if (when !== "never gathered") yield* sql.unsafe("ANALYZE")
        yield* sql.unsafe(waiting)
        const tasks = Effect.map(
          rowsRead,
          (all) => all.find(({ name }) => name === "agent_tasks")?.rows ?? 0
        )
        const query = { tenant: H.tenant, limit: 50, status: "awaiting_approval" } as const
        const before = yield* tasks
        const first = yield* runs.list(query)
        const second = yield* runs.list({ ...query, after: first.at(-1)?.id })
        assert.strictEqual(new Set([...first, ...second].map(({ id }) => id)).size, 100)
        assert.isBelow((yield* tasks) - before, most)
      }).pipe(Effect.provide(stores.pipe(Layer.provideMerge(EmptyPglite.layer))))
    )
  }
})

onEngines("plans of a transactional tool", (it) => {
  it.effect("its body may read its own tables whole, and what follows it may not", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const journal = yield* RunJournal
      const { fence, run } = yield* Samples.begin()
      const setting = sql<{ it: string }>`SELECT current_setting('enable_seqscan') AS it`
      let within: unknown
      yield* journal.transact(
        run,
        fence,
        Effect.map(setting, (rows) => (within = rows)),
        () => ({ events: [Samples.modelTurned(1)], status: "processing" })
      )
      assert.deepStrictEqual(within, [{ it: "on" }])
      assert.deepStrictEqual(yield* setting, [{ it: "off" }])
    })
  )
})
