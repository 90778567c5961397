/**
 * A publication in the transaction of its call: what does not commit with the call's event was not published, and what is under way
 * in another one is waited for.
 */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as StoredPlatform from "../../layers/stores/spectral/platform/StoredPlatform.ts"
import { DraftStore } from "../../services/spectral/platform/contracts/DraftStore.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { WorkspaceSettings } from "../../services/spectral/platform/WorkspaceSettings.ts"
import { WorkspaceReader } from "../../services/spectral/platform/WorkspaceReader.ts"
import { SystemId } from "../../src/spectral/platform/contracts/Fact.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import { onEngines } from "../sql/Engines.ts"
import { sample, some } from "./Records.ts"

const proposal = {
  kind: "system_card",
  system_id: SystemId.make("support-bot"),
  title: "Its owner",
  owner: "Customer support"
} as const
const author = { run: "run-1", call: "0/1.0", principal: "olga" }
const publication = { target_id: "support-bot", based_on: 1, by: "ann", reason: "Agreed." }

onEngines("a publication", (it) => {
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
    }).pipe(Effect.provide(Layer.orDie(StoredPlatform.layer)))
  )
})

/** PGlite has one connection: nothing is ever under way beside it. */
const postgres = StoredPlatform.layer.pipe(
  Layer.provideMerge(SqlStores.layer),
  Layer.provideMerge(EmbeddedPostgres.layer),
  Layer.orDie
)

/** `second` begins when `first` has been done and is not committed; it is once `second` waits for a lock. */
const oneBehindTheOther = Effect.fnUntraced(function* <A, E, B, E2, R, R2>(
  first: Effect.Effect<A, E, R>,
  second: Effect.Effect<B, E2, R2>
) {
  const sql = yield* SqlClient.SqlClient
  const isDone = yield* Deferred.make<void>()
  const later = yield* Effect.forkChild(Effect.andThen(Deferred.await(isDone), Effect.flip(second)))
  const waiting = sql.unsafe("SELECT FROM pg_locks WHERE NOT granted")
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* first
      yield* Deferred.succeed(isDone, undefined)
      yield* eventually(waiting, (rows) => rows.length > 0)
    })
  )
  return yield* Fiber.join(later)
})

const waits = (title: string, body: Effect.Effect<void, unknown, Layer.Success<typeof postgres>>) =>
  it.live(title, () => Effect.provide(body, postgres))

waits(
  "a publication waits for the withdrawal of its draft that is under way, and is refused",
  Effect.gen(function* () {
    const store = yield* DraftStore
    const tenant = Samples.tenant()
    yield* RecordImporter.use((importer) => importer.record(tenant, sample))
    yield* store.write(tenant, proposal, author)
    const refused = yield* oneBehindTheOther(
      store.withdraw(tenant, "draft-1", { by: "ann", reason: "Not needed." }),
      store.publish(tenant, "draft-1", publication)
    )
    assert.include(refused.message, "draft-1 is withdrawn")
  })
)

waits(
  "a change of the mode waits for a change under it that is under way",
  Effect.gen(function* () {
    const settings = yield* WorkspaceSettings
    const tenant = Samples.tenant()
    yield* RecordImporter.use((importer) => importer.record(tenant, sample))
    const mode = { version: 1, autonomy_mode: "observe_only", reason: "A test." } as const
    const sql = yield* SqlClient.SqlClient
    const isHeld = yield* Deferred.make<void>()
    const later = yield* Effect.forkChild(
      Effect.andThen(Deferred.await(isHeld), settings.changeConfiguration(tenant, mode, "olga"))
    )
    const held = yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* settings.lockWorkspace(tenant)
        yield* Deferred.succeed(isHeld, undefined)
        yield* eventually(
          sql.unsafe("SELECT FROM pg_locks WHERE NOT granted"),
          (rows) => rows.length > 0
        )
        return yield* settings.lockWorkspace(tenant)
      })
    )
    assert.strictEqual(held.configuration.autonomy_mode, "propose")
    assert.strictEqual((yield* Fiber.join(later)).configuration.autonomy_mode, "observe_only")
  })
)

waits(
  "a publication waits for another one of the same card that is under way, and is refused",
  Effect.gen(function* () {
    const store = yield* DraftStore
    const tenant = Samples.tenant()
    yield* RecordImporter.use((importer) => importer.record(tenant, sample))
    yield* store.write(tenant, proposal, author)
    yield* store.write(tenant, { ...proposal, owner: "Sales" }, { ...author, call: "0/2.0" })
    const refused = yield* oneBehindTheOther(
      store.publish(tenant, "draft-1", publication),
      store.publish(tenant, "draft-2", publication)
    )
    assert.include(refused.message, "the card of support-bot is at revision 2")
    const card = yield* WorkspaceReader.use((reader) => reader.systemCard(tenant, "support-bot"))
    assert.strictEqual(card.owner, "Customer support")
  })
)

waits(
  "an import of a new card waits for another one of it that is under way, and then writes its own",
  Effect.gen(function* () {
    const importer = yield* RecordImporter
    const reader = yield* WorkspaceReader
    const tenant = Samples.tenant()
    const [card] = sample.systems
    const next = some({ systems: [{ ...card!, owner: "Sales" }] })
    const sql = yield* SqlClient.SqlClient
    const isHeld = yield* Deferred.make<void>()
    const later = yield* Effect.forkChild(
      Effect.andThen(Deferred.await(isHeld), importer.record(tenant, next))
    )
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* importer.record(tenant, some({ systems: [card] }))
        yield* Deferred.succeed(isHeld, undefined)
        yield* eventually(
          sql.unsafe("SELECT FROM pg_locks WHERE NOT granted"),
          (rows) => rows.length > 0
        )
      })
    )
    yield* Fiber.join(later)
    assert.strictEqual((yield* reader.systemCard(tenant, card!.system_id)).owner, "Sales")
  })
)
