import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as EmptyPglite from "./EmptyPglite.ts"
import { migration as runs } from "../../layers/sql/engine/migrations/0001_runs.ts"
import { migration as owners } from "../../layers/sql/engine/migrations/0016_conversation_owners.ts"
import * as Samples from "../contracts/Samples.ts"

it.live("a conversation of an earlier release belongs to the sender of its first message", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* runs
    const senders = ['"carl"', '{"id":"co\\"ra\\u0000","roles":["customer"]}']
    for (const [index, sender] of senders.entries()) {
      const id = `c-${index}`
      yield* sql.unsafe(
        `INSERT INTO troupe.conversations (id, tenant, agent, address_key, initiated_by, created_at, tasks, messages)
         VALUES ($1::text, 'acme', 'operations', $1::text, 'customer', 0, 2, 2)`,
        [id]
      )
      for (const [ordinal, by] of [sender, '"somebody else"'].entries()) {
        yield* sql.unsafe(
          `INSERT INTO troupe.agent_tasks
             (id, tenant, agent, address_key, conversation, ordinal, message_id, message, by, trace_id, channel_origin, created_at)
           VALUES ($1::uuid, 'acme', 'operations', $2::text, $2::text, $3::int4, $1::uuid, '"hello"', $4::text, '""', 'api', 0)`,
          [Samples.runId(), id, ordinal + 1, by]
        )
      }
    }
    yield* owners
    const rows = yield* sql.unsafe<{ readonly begun_by: string }>(
      `SELECT begun_by FROM troupe.conversations ORDER BY id`
    )
    assert.deepStrictEqual(
      rows.map(({ begun_by }) => begun_by),
      ['"carl"', '"co\\"ra\\u0000"']
    )
  }).pipe(Effect.provide(EmptyPglite.layer))
)
