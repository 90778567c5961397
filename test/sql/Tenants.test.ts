import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as EmptyPglite from "./EmptyPglite.ts"
import { migration as runs } from "../../layers/sql/engine/migrations/0001_runs.ts"
import { migration as delivery } from "../../layers/sql/engine/migrations/0002_delivery.ts"
import { migration as append } from "../../layers/sql/engine/migrations/0003_append.ts"
import { migration as costs } from "../../layers/sql/engine/migrations/0004_costs.ts"
import { migration as toolCosts } from "../../layers/sql/engine/migrations/0010_tool_costs.ts"
import { migration as tenants } from "../../layers/sql/engine/migrations/0012_tenants.ts"
import { RunId } from "../../src/Ids.ts"
import * as Samples from "../contracts/Samples.ts"

/** What the releases before tenants had conversations of their own wrote: no tenant but the conversation's and the run's. */
const written = (run: RunId, conversation: string, tenant: string) => [
  `INSERT INTO troupe.conversations (id, tenant, agent, address_key, initiated_by, created_at, tasks, messages)
   VALUES ('${conversation}', '${tenant}', 'operations', '${conversation}', 'customer', 0, 1, 1) ON CONFLICT DO NOTHING`,
  `INSERT INTO troupe.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, message_id, message, by, trace_id, channel_origin, created_at)
   VALUES ('${run}', '${tenant}', 'operations', '${conversation}', '${conversation}', 1, '${run}', '"hello"', '"ada"', '""', 'api', 0)`,
  `INSERT INTO troupe.conversation_messages (conversation, seq, role, content, channel_origin, run_id, created_at)
   VALUES ('${conversation}', 0, 'user', '"hello"', 'api', '${run}', 0)`,
  `WITH r AS (INSERT INTO troupe.runs (run_id, tenant, length) VALUES ('${run}', '${tenant}', 1) RETURNING run_id)
   INSERT INTO troupe.run_details (run_id, agent, address_key, conversation, ordinal, created_at)
   SELECT run_id, 'operations', '${conversation}', '${conversation}', 1, 0 FROM r`
]

const all = Effect.fnUntraced(function* (statements: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})

const tenantsOf = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql.unsafe<{ readonly conversation: string; readonly tenant: string }>(
    `SELECT conversation, tenant FROM troupe.${table} ORDER BY conversation`
  )
  return rows.map(({ conversation, tenant }) => [conversation, tenant])
})

it.live("what was written before gets its tenant, and what an older process still writes", () =>
  Effect.gen(function* () {
    for (const step of [runs, delivery, append, costs, toolCosts]) yield* step
    yield* all(written(Samples.runId(), "c-1", "acme"))
    yield* all(written(Samples.runId(), "c-2", "other"))
    yield* tenants
    yield* all(written(Samples.runId(), "c-3", "other"))
    for (const table of ["conversation_messages", "run_details"]) {
      assert.deepStrictEqual(yield* tenantsOf(table), [
        ["c-1", "acme"],
        ["c-2", "other"],
        ["c-3", "other"]
      ])
    }
  }).pipe(Effect.provide(EmptyPglite.layer))
)

it.live("a message of an older process is refused where two tenants have the conversation", () =>
  Effect.gen(function* () {
    for (const step of [runs, delivery, append, costs, toolCosts, tenants]) yield* step
    yield* all(written(Samples.runId(), "c-1", "acme"))
    const [, , message] = written(Samples.runId(), "c-1", "other")
    yield* all([
      `INSERT INTO troupe.conversations (id, tenant, agent, address_key, initiated_by, created_at)
       VALUES ('c-1', 'other', 'operations', 'c-1', 'customer', 0)`
    ])
    assert.strictEqual((yield* Effect.exit(all([message!])))._tag, "Failure")
    assert.deepStrictEqual(yield* tenantsOf("conversation_messages"), [["c-1", "acme"]])
  }).pipe(Effect.provide(EmptyPglite.layer))
)
