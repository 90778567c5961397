import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import { TriplePublisher } from "../../services/semstreams/TriplePublisher.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { onEngines } from "./Engines.ts"

onEngines("the graph", (it) => {
  it.effect("SM-72 takes no fact of a publication whose third one the database refuses", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const graph = yield* TriplePublisher
      yield* sql.unsafe(`ALTER TABLE troupe.triples ADD CONSTRAINT refused CHECK (object <> '"3"')`)
      const tenant = Tenant.make("acme")
      const facts = ["1", "2", "3", "4"].map((object) => ({
        subject: "s",
        predicate: "p",
        object,
        source: "test",
        timestamp: "2026-11-22T00:00:00.000Z",
        confidence: 1
      }))
      const error = yield* Effect.flip(graph.addAll(tenant, facts))
      assert.strictEqual(error._tag, "StoreError")
      assert.deepStrictEqual(yield* graph.about(tenant, "s", 10), [])
    }).pipe(Effect.provide(SemStreams.layer))
  )
})
