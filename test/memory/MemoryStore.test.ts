import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as EphemeralMemoryStore from "../../layers/ephemeral/EphemeralMemoryStore.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { memoryStoreTests } from "../contracts/MemoryStore.contract.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import { onEngines } from "../sql/Engines.ts"
import { row } from "./Rows.ts"

layer(EphemeralMemoryStore.layer, { excludeTestServices: true })(
  "memories (ephemeral)",
  memoryStoreTests
)
onEngines("memories", memoryStoreTests)

// PGlite has one connection, and so one transaction at a time.
layer(Layer.provideMerge(SqlStores.layer, EmbeddedPostgres.layer), {
  excludeTestServices: true,
  timeout: "2 minutes"
})("an erasure (PostgreSQL)", (it) => {
  it.effect("waits for a writer of the same scope, and neither gives up", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const sql = yield* SqlClient.SqlClient
      const tenant = Samples.tenant()
      const { id: _, seen: __, ...given } = row({ tenant, tier: "session", text: "Olga called" })
      const older = yield* store.add(given)
      const [isLocked, isMade] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
      // Like every writer: first the scope, then its rows.
      const writing = Effect.gen(function* () {
        yield* sql.unsafe(`SELECT FROM troupe.memory_scopes WHERE tenant = $1::text FOR UPDATE`, [
          tenant
        ])
        yield* Deferred.succeed(isLocked, undefined)
        yield* Deferred.await(isMade)
        yield* sql.unsafe(`UPDATE troupe.memory_rows SET seen = 2 WHERE id = $1::uuid`, [older.id])
      })
      const erasing = Effect.andThen(Deferred.await(isLocked), store.erase(tenant, "Olga"))
      const waiting = Effect.repeat(sql.unsafe(`SELECT FROM pg_locks WHERE NOT granted`), {
        until: (rows) => rows.length > 0
      }).pipe(Effect.andThen(Deferred.succeed(isMade, undefined)))
      const [, { erased }] = yield* Effect.all(
        [sql.withTransaction(writing), erasing, Effect.andThen(Deferred.await(isLocked), waiting)],
        { concurrency: 3 }
      )
      assert.strictEqual(erased.session, 1)
    })
  )
})
