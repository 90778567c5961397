/** A publication in the transaction of its call: what does not commit with the call's event was not published. */
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as SqlPlatform from "../../layers/sql/platform/SqlPlatform.ts"
import { DraftStore } from "../../services/platform/DraftStore.ts"
import { RecordImporter } from "../../services/platform/RecordImporter.ts"
import { WorkspaceReader } from "../../services/platform/WorkspaceReader.ts"
import { SystemId } from "../../src/platform/contracts/RecordId.ts"
import * as Samples from "../contracts/Samples.ts"
import { onBothEngines } from "../sql/Engines.ts"
import { sample } from "./Records.ts"

const proposal = {
  kind: "system_card",
  system_id: SystemId.make("support-bot"),
  title: "Its owner",
  owner: "Customer support"
} as const
const author = { run: "run-1", call: "0/1.0", principal: "olga" }
const publication = { target_id: "support-bot", based_on: 1, by: "ann", reason: "Agreed." }

onBothEngines("a publication", (it) => {
  it.effect("is gone, with its draft, where the transaction of its call does not commit", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* DraftStore
      const reader = yield* WorkspaceReader
      const tenant = Samples.tenant()
      yield* RecordImporter.use((importer) => importer.record(tenant, sample))
      const card = reader.systemCard(tenant, "support-bot")
      const before = yield* card
      /** The call's event is appended behind the body, and here it never is. */
      const lost = <A, E, R>(body: Effect.Effect<A, E, R>) =>
        Effect.flip(sql.withTransaction(Effect.andThen(body, Effect.fail("lost" as const))))
      const write = store.write(tenant, proposal, author)
      assert.strictEqual(yield* lost(write), "lost")
      assert.deepEqual(yield* store.drafts(tenant, { limit: 10 }), [])
      // The number of what was rolled back is given to the next.
      assert.strictEqual((yield* write).draft_id, "draft-1")
      const publish = store.publish(tenant, "draft-1", publication)
      const seen = Effect.andThen(publish, card).pipe(
        Effect.map(({ owner }) => assert.strictEqual(owner, "Customer support"))
      )
      assert.strictEqual(yield* lost(seen), "lost")
      assert.deepEqual(yield* card, before)
      assert.strictEqual((yield* store.draft(tenant, "draft-1")).state.status, "draft")
      assert.strictEqual(yield* publish, 2)
      assert.strictEqual((yield* card).owner, "Customer support")
    }).pipe(Effect.provide(Layer.orDie(SqlPlatform.layer)))
  )
})
