/** kill -9 in the middle of the deletion of a conversation: what is left of it is deleted by doing it again. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import * as Process from "./Process.ts"

/** More than one transaction erases. */
const runs = 45

const counted = (sql: SqlClient.SqlClient, condition: string) =>
  Effect.map(
    sql.unsafe<{ readonly n: number }>(
      `SELECT count(*)::int4 AS n FROM troupe.conversation_messages WHERE ${condition}`
    ),
    ([row]) => row!.n
  )

it.live(
  "a deletion whose process was killed halfway is completed by the next one",
  () =>
    Effect.gen(function* () {
      const url = yield* EmbeddedPostgres.database
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const tenant = Samples.tenant()
        const conversation = ConversationId.make("mine")
        for (let n = 0; n < runs; n++) {
          yield* Samples.finish({ tenant, conversation, message: "canary" }, { text: "canary" })
        }
        const [last] = yield* sql.unsafe<{ readonly id: string }>(
          "SELECT id::text FROM troupe.agent_tasks ORDER BY ordinal DESC LIMIT 1"
        )
        // The last run's task is held, so that the last transaction with runs waits.
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql.unsafe(
              "SELECT 1 FROM troupe.agent_tasks WHERE id = $1::text::uuid FOR UPDATE",
              [last!.id]
            )
            yield* Effect.scoped(
              Effect.gen(function* () {
                const child = yield* Process.run("test/sql/deleter.ts", url, tenant, conversation)
                yield* Effect.repeat(counted(sql, "content LIKE '%erased%'"), {
                  schedule: Schedule.spaced("20 millis"),
                  until: (n) => n >= 40
                })
                yield* child.kill
                assert.deepStrictEqual(child.lines(), [])
              })
            )
          })
        )
        assert.isAbove(yield* counted(sql, "content LIKE '%canary%'"), 0)
        const { list } = yield* ConversationStore
        const [half] = (yield* list({ tenant, limit: 5 })).items
        assert.deepInclude(half, { id: conversation, status: "idle" })
        const erasures = yield* SubjectErasure
        const [broken] = yield* erasures.list({ tenant, limit: 5 })
        assert.isUndefined(broken?.ended_at)

        yield* erasures.eraseConversation({ tenant, conversation, by: "carl" })
        assert.strictEqual(yield* counted(sql, "content LIKE '%canary%'"), 0)
        assert.deepStrictEqual(yield* list({ tenant, limit: 5 }), { items: [] })
        const [done] = yield* erasures.list({ tenant, limit: 5 })
        assert.isDefined(done?.ended_at)
      }).pipe(
        Effect.provide(
          Layer.provideMerge(SqlStores.layer, Postgres.layer({ url: Redacted.make(url) }))
        )
      )
    }),
  120_000
)
