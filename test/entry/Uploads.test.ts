/** kill -9 between an upload and its message: what nobody names is collected, and nothing else. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { Tenant } from "../../src/value/Ids.ts"
import * as Homes from "../process/Homes.ts"
import * as Process from "../sql/Process.ts"
import { digestOf, fileOf, names } from "./Uploads.ts"

const tenant = Tenant.make("default")

const kept = Effect.gen(function* () {
  const blobs = yield* BlobStore
  const found = yield* Effect.filter(names, (name) =>
    Effect.map(blobs.read(tenant, digestOf(name), 0, 1), (bytes) => bytes !== undefined)
  )
  return found
})

it.live(
  "a killed process leaves no file behind that nothing names, once files are collected",
  () =>
    Effect.gen(function* () {
      const { directory } = yield* Homes.directory
      const lines = yield* Effect.scoped(
        Effect.gen(function* () {
          const child = yield* Process.run("test/entry/uploader.ts", directory)
          yield* child.printed(1)
          yield* child.kill
          return child.lines()
        })
      )
      assert.deepStrictEqual(lines, ["IdempotencyConflict"])
      yield* Effect.gen(function* () {
        const blobs = yield* BlobStore
        assert.deepStrictEqual(yield* kept, [...names])
        // Nothing is a day old.
        assert.strictEqual(yield* blobs.collect(Date.now() - 86_400_000, 1_000), 0)
        assert.deepStrictEqual(yield* kept, [...names])
        while ((yield* blobs.collect(Date.now() + 60_000, 1)) > 0) continue
        assert.deepStrictEqual(yield* kept, ["sent"])
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql.unsafe(
          `SELECT (SELECT count(*) FROM troupe.blobs)::int4 AS blobs, (SELECT count(*) FROM troupe.blob_uses)::int4 AS uses,
             (SELECT sum(bytes) FROM troupe.blob_totals)::int4 AS bytes`
        )
        const { length: bytes } = fileOf("sent").data
        assert.deepStrictEqual(rows as unknown, [{ blobs: 1, uses: 1, bytes }])
      }).pipe(Effect.provide(Stores.directory(directory)))
    }),
  120_000
)
