/** What nobody else does for an embedded database: its log is bounded, and rows that were replaced leave room. */
import { existsSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { marker } from "../../layers/sql/engine/ErasedBytes.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import type { Upkeep } from "../../layers/sql/engine/PgliteUpkeep.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Homes from "../process/Homes.ts"

const place = Effect.map(Homes.directory, ({ directory }) => directory)

/** Files of 16 MB each. */
const segments = (directory: string): number =>
  readdirSync(join(directory, "pgdata/pg_wal")).filter((name) => /^[0-9A-F]{24}$/.test(name)).length

/** Changes rows, and begins another file of the log, as 16 MB of changes would. */
const change = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE counted SET n = n + 1`
  yield* sql`SELECT pg_switch_wal()`
})

const made = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE counted (id int PRIMARY KEY, n int NOT NULL)`
  yield* sql`INSERT INTO counted SELECT i, 0 FROM generate_series(1, 100) AS i`
})

const counts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{
    dead: number
    vacuums: number
  }>`SELECT n_dead_tup::int AS dead, vacuum_count::int AS vacuums FROM pg_stat_user_tables WHERE relname = 'counted'`
  return row ?? { dead: 0, vacuums: 0 }
})

const open =
  (directory: string, upkeep: Partial<Upkeep>) =>
  <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
    Effect.provide(effect, Pglite.layer({ directory, upkeep }), { local: true })

describe("an embedded database", () => {
  it.live("keeps a bounded log of its changes, which else grows with each", () =>
    Effect.gen(function* () {
      const directory = yield* place
      const often = { every_ms: 10, log_bytes_max: 32 * 2 ** 20 }
      const [kept, grown] = yield* Effect.gen(function* () {
        yield* made
        for (let n = 0; n < 24; n++) {
          yield* change
          yield* Effect.sleep("15 millis")
        }
        yield* eventually(
          Effect.sync(() => segments(directory)),
          (count) => count <= 8
        )
        return [segments(directory), 24] as const
      }).pipe(open(directory, often))
      assert.isBelow(kept, grown / 2)

      const other = yield* place
      yield* Effect.gen(function* () {
        yield* made
        for (let n = 0; n < 12; n++) yield* change
        assert.isAtLeast(segments(other), 12)
      }).pipe(open(other, { every_ms: 600_000 }))
      // What was logged before a restart is dealt with by the next process.
      yield* eventually(
        Effect.sync(() => segments(other)),
        (count) => count <= 8
      ).pipe(open(other, often))
    }).pipe(Effect.scoped)
  )

  it.live("vacuums a table whose rows were replaced, and leaves others alone", () =>
    Effect.gen(function* () {
      const directory = yield* place
      yield* Effect.gen(function* () {
        yield* made
        // They are memory of the process.
        const buffers = yield* SqlClient.SqlClient.use((sql) => sql`SHOW shared_buffers`)
        assert.deepStrictEqual(buffers, [{ shared_buffers: "16MB" }])
        yield* change
        yield* eventually(counts, ({ dead, vacuums }) => vacuums === 1 && dead === 0)
        yield* Effect.sleep("100 millis")
        assert.strictEqual((yield* counts).vacuums, 1)
      }).pipe(open(directory, { every_ms: 10, dead_rows_max: 50 }))
    }).pipe(Effect.scoped)
  )

  it.live("takes erased bytes from its files, where an earlier process did not come to it", () =>
    Effect.gen(function* () {
      const directory = yield* place
      const word = "quokka1984"
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`INSERT INTO troupe.flow_states SELECT 'acme', ${word} || i, '' FROM generate_series(1, 300) AS i`
        // After a checkpoint files of the log are kept for later, as many as were filled before it.
        for (let n = 0; n < 4; n++) yield* change
        yield* sql`CHECKPOINT`
        yield* sql`DELETE FROM troupe.flow_states`
        yield* sql`INSERT INTO troupe.flow_states VALUES ('acme', 'other', '')`
        yield* sql`VACUUM troupe.flow_states`
        yield* sql`CHECKPOINT`
        // Now the file after the current one is such a file.
        for (let n = 0; n < 2; n++) yield* change
      }).pipe((used) => Effect.andThen(made, used), open(directory, { every_ms: 600_000 }))
      const left = Homes.holding(directory, word)
      for (const place of ["pgdata/base/", "pgdata/pg_wal/"]) {
        assert.isTrue(
          left.some((name) => name.startsWith(place)),
          String(left)
        )
      }
      const file = join(directory, marker)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`INSERT INTO troupe.flow_states VALUES ('acme', ${word}, '')`
        for (let n = 0; n < 4; n++) yield* change
        yield* sql`DELETE FROM troupe.flow_states`
        writeFileSync(file, "")
        yield* eventually(
          Effect.sync(() => existsSync(file)),
          (exists) => !exists
        )
      }).pipe(open(directory, { every_ms: 10, log_bytes_max: 2 ** 30 }))
      assert.deepStrictEqual(Homes.holding(directory, word), [])
    }).pipe(Effect.scoped)
  )

  it.live("says once that it cannot be tidied up, and works on", () => {
    const lines: Array<string> = []
    const logger = Logger.make((entry) => void lines.push(String(entry.message)))
    return Effect.gen(function* () {
      const directory = yield* place
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE pg_temp.pg_stat_user_tables (n int)`
        yield* eventually(
          Effect.sync(() => lines.length),
          (count) => count > 0
        )
        yield* Effect.sleep("100 millis")
        assert.lengthOf(lines, 1)
        assert.include(lines[0]!, "could not be tidied up")
        yield* made
      }).pipe(open(directory, { every_ms: 10 }))
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([logger])))
  })
})
