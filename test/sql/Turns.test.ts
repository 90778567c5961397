import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as TenantReads from "../../layers/sql/engine/TenantReads.ts"
import * as SqlToolQueue from "../../layers/sql/tools/SqlToolQueue.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { CallRecords } from "../../services/CallRecords.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { RunList } from "../../services/RunList.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { ToolQueue, waiting_max } from "../../services/ToolQueue.ts"
import * as Samples from "../contracts/Samples.ts"
import type { Needs } from "./Engines.ts"
import { onEngines } from "./Engines.ts"

/** The rows that an effect read of a table, whether it read it whole or by an index; and how often it read it whole. */
const cost = Effect.fnUntraced(function* <A, E, R>(table: string, effect: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  const count = Effect.map(
    sql<{ rows: number; whole: number }>`
      SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int4 AS rows, seq_scan::int4 AS whole
      FROM pg_stat_xact_user_tables WHERE schemaname = 'troupe' AND relname = ${table}`,
    (found) => found[0]!
  )
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      const before = yield* count
      yield* effect
      const after = yield* count
      return { rows: after.rows - before.rows, whole: after.whole - before.whole }
    })
  )
})

const waiting = 5_000
const toolQueue = Layer.provide(SqlToolQueue.layer, Layer.orDie(TenantReads.layer))

const turns = (it: Vitest.MethodsNonLive<Needs>) => {
  it.effect("a claim of tool calls reads what it takes, however many wait", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* ToolQueue
      const tool = "shop.refund@1"
      yield* sql`
        INSERT INTO troupe.tool_messages (id, tool, tenant, payload, expires_at, due_at)
        SELECT 'call-' || i, ${tool}::text, CASE WHEN i < ${waiting}::int4 THEN 'a' ELSE 'b' || i END, '{}', 9000000000000, i
        FROM generate_series(1, ${waiting + 3}::int4) i`
      const claim = (owner: string) =>
        queue.claim({ owner, tools: [tool, "shop.other@1"], limit: 8, lease_ms: 60_000 })
      // As many as it takes until a session keeps the plan of a statement.
      for (let n = 0; n < 8; n++) {
        const { rows, whole } = yield* cost("tool_messages", claim(`owner-${n}`))
        assert.strictEqual(whole, 0)
        assert.isBelow(rows, 150)
        const next = yield* cost("tool_messages", queue.nextDueAt([tool, "shop.other@1"]))
        assert.strictEqual(next.whole, 0)
        assert.isBelow(next.rows, 10)
      }
    }).pipe(Effect.provide(toolQueue))
  )

  it.effect("a tenant whose places in the queue are taken takes none of another's", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* ToolQueue
      const tool = "shop.full@1"
      const [a, b] = [Samples.tenant(), Samples.tenant()]
      yield* sql`
        INSERT INTO troupe.tool_messages (id, tool, tenant, payload, expires_at, due_at)
        SELECT 'full-' || i, ${tool}::text, ${a}::text, '{}', 9000000000000, i FROM generate_series(1, ${waiting_max}::int4) i`
      const send = (tenant: typeof a) =>
        queue.send({ id: Samples.unique("call"), tool, tenant, expires_at: 9e12, payload: {} })
      assert.deepInclude(yield* Effect.flip(send(a)), { _tag: "ToolQueueFull", tool, waiting_max })
      assert.isUndefined(yield* send(b))
    }).pipe(Effect.provide(toolQueue))
  )

  it.effect("a look for parked runs reads those, and no other run", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ownership = yield* RunOwnership
      const task = Samples.newTask()
      const { agent } = task.address
      const begun = yield* Effect.replicateEffect(
        Effect.suspend(() =>
          Samples.begin({}, [Samples.modelTurned(1, 1), Samples.approvalRequested()])
        ),
        20
      )
      yield* sql`
        INSERT INTO troupe.runs (run_id, tenant, status) SELECT gen_random_uuid(), 'a', 3
        FROM generate_series(1, ${waiting}::int4)`
      yield* sql`
        INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, created_at, open)
        SELECT run_id, tenant, ${agent}::text, 'c', 'c', 1, 1, false FROM troupe.runs WHERE status = 3`
      yield* sql`ANALYZE troupe.runs`
      yield* sql`ANALYZE troupe.run_details`
      const adopt = ownership.adopt("heir", [agent], 5)
      const { rows } = yield* cost("run_details", adopt)
      assert.isBelow(rows, 20 * begun.length)
      const heads = yield* cost("runs", adopt)
      assert.isBelow(heads.rows, 20 * begun.length)
    })
  )

  it.effect("a count of what waits for a tenant ends at 1,001, however much waits", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tenant = Samples.tenant()
      const tool = Samples.unique("shop.print@")
      yield* sql`
        INSERT INTO troupe.tool_messages (id, tool, tenant, payload, expires_at, due_at)
        SELECT ${tool}::text || i, ${tool}::text, CASE WHEN i % 2 = 0 THEN ${tenant}::text ELSE 'b' || i END, '{}', 9000000000000, i
        FROM generate_series(1, ${2 * waiting}::int4) i`
      yield* sql`
        INSERT INTO troupe.outbox (tenant, key, key_seq, id, place, topic, payload, created_at, replayed)
        SELECT ${tenant}::text, 'k' || i, 1, gen_random_uuid(), i, 'late', '{}', i, false
        FROM generate_series(1, ${waiting}::int4) i`
      yield* sql`
        WITH made AS (INSERT INTO troupe.runs (run_id, tenant, status)
          SELECT gen_random_uuid(), ${tenant}::text, 1 FROM generate_series(1, ${waiting}::int4) RETURNING run_id)
        INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, created_at)
        SELECT run_id, ${tenant}::text, 'a', 'k', 'c', 1, 1 FROM made`
      const queue = yield* ToolQueue
      const reader = yield* OutboxReader
      const list = yield* RunList
      yield* sql`
        INSERT INTO troupe.call_records (key, tenant, run_id, tool_name, ended_at, took_ms, ended_as, record)
        SELECT ${tenant}::text || i, CASE WHEN i % 5 > 0 THEN ${tenant}::text ELSE 'b' END, gen_random_uuid(), '"t"', i, 5, 0, '{}'
        FROM generate_series(1, ${4 * waiting}::int4) i`
      yield* sql`ANALYZE troupe.call_records`
      const records = yield* CallRecords
      for (const [table, read] of [
        ["call_records", records.timings(tenant, 0, 1_001)],
        ["tool_messages", queue.queued(tenant, [tool, "shop.other@1"])],
        ["outbox", reader.undelivered(tenant)],
        ["run_details", list.open(tenant, 9_999)],
        ["runs", list.open(tenant, 9_999)]
      ] as const) {
        const { rows, whole } = yield* cost<unknown, unknown, never>(table, read)
        assert.strictEqual(whole, 0, table)
        assert.isAtMost(rows, 1_100, table)
        assert.isAtLeast(rows, 1_001, table)
      }
    }).pipe(Effect.provide(toolQueue))
  )

  it.effect(
    "the end of a run reads its own rows, however many there are since its plan was made",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const journal = yield* RunJournal
        const end = ({ fence, run }: Samples.Begun) =>
          journal.append({
            run,
            fence,
            events: [Samples.runEnded({ text: "done" })],
            status: "complete"
          })
        // As many as it takes until a session keeps the plan of a statement.
        for (let n = 0; n < 8; n++) yield* end(yield* Samples.begin())
        const tenant = Samples.tenant()
        yield* sql`
        INSERT INTO troupe.conversations (tenant, id, agent, address_key, initiated_by, created_at)
        SELECT ${tenant}::text, 'many-' || i, 'a', 'k', 'customer', i FROM generate_series(1, ${waiting}::int4) i`
        yield* sql`
        INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, created_at)
        SELECT gen_random_uuid(), ${tenant}::text, 'a', 'k', 'many-' || i, 1, i FROM generate_series(1, ${waiting}::int4) i`
        for (const table of ["conversations", "run_details", "agent_tasks", "runs"]) {
          const begun = yield* Samples.begin({ tenant })
          const { rows } = yield* cost(table, end(begun))
          assert.isBelow(rows, 50, table)
        }
      })
  )
}

onEngines("turns of tenants", turns)
