/** An erasure reads a large table in pieces: what one piece has of a conversation says nothing of what is in the next. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { isErased } from "../../src/replay/Erased.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "./Engines.ts"

/** A row fills a block of 8,192 bytes, and a piece has 1,000 blocks. */
const rows_to_fill = 1_100

/** What is written before this and after it is in different pieces of the table. */
const fill = Effect.fnUntraced(function* (like: RunId) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE troupe.agent_tasks SET (fillfactor = 10)")
  yield* sql.unsafe(
    `INSERT INTO troupe.agent_tasks SELECT f.* FROM troupe.agent_tasks t CROSS JOIN generate_series(1, ${rows_to_fill}) n
     CROSS JOIN LATERAL jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(), 'message_id', gen_random_uuid(),
       'tenant', 'filler', 'conversation', 'f-' || n, 'address_key', 'f-' || n, 'message', '"' || repeat('x', 1000) || '"')) f
     WHERE t.id = $1::text::uuid`,
    [like]
  )
  const [size] = yield* sql.unsafe<{ readonly blocks: number }>(
    "SELECT (pg_relation_size('troupe.agent_tasks') / 8192)::int4 AS blocks"
  )
  assert.isAbove(size!.blocks, 1_000)
})

const isGone = (tenant: Tenant, run: RunId) =>
  Effect.map(
    TaskStore.use((tasks) => tasks.read(tenant, run)),
    (task) => isErased(task?.message)
  )

onEngines("ErasurePieces", (it) => {
  it.effect("erases of a conversation of somebody else the subject's run alone", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const first = yield* Samples.finish({ tenant, by: "carl" })
      const { conversation } = first.task
      const theirs = yield* Samples.finish({ tenant, conversation, by: "olga" })
      yield* fill(first.run)
      const later = yield* Samples.finish({ tenant, conversation, by: "carl" })
      const last = yield* Samples.finish({ tenant, conversation, by: "olga" })
      yield* SubjectErasure.use(({ erase }) => erase({ tenant, subject: "olga", by: "root" }))
      const runs = [first.run, theirs.run, later.run, last.run]
      assert.deepStrictEqual(yield* Effect.forEach(runs, (run) => isGone(tenant, run)), [
        false,
        true,
        false,
        true
      ])
    })
  )
})
