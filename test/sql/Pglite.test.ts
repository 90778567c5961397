import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { RunJournal } from "../../services/RunJournal.ts"
import * as EmptyPglite from "./EmptyPglite.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import * as Homes from "../process/Homes.ts"
import * as Samples from "../contracts/Samples.ts"

it.live(
  "the end of a run reads no table whole, though its plan was made when there were few runs",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const journal = yield* RunJournal
      // What the session has counted since it last handed its counters on, and what it has handed on.
      const scans = Effect.map(
        sql<{ seq_scan: number; idx_scan: number }>`
        SELECT sum(seq_scan)::int4 AS seq_scan, sum(idx_scan)::int4 AS idx_scan FROM (
          SELECT schemaname, seq_scan, idx_scan FROM pg_stat_xact_user_tables
          UNION ALL SELECT schemaname, seq_scan, idx_scan FROM pg_stat_user_tables
        ) AS tables WHERE schemaname = 'troupe'`,
        (rows) => rows[0]!
      )
      // As many as it takes until a session keeps the plan of a statement.
      for (let n = 0; n < 10; n++) {
        const begun = yield* Samples.begin()
        const before = yield* scans
        yield* journal.append(begun.next(Samples.runEnded()))
        const after = yield* scans
        assert.strictEqual(after.seq_scan, before.seq_scan)
        assert.isAbove(after.idx_scan, before.idx_scan)
      }
    }).pipe(Effect.provide(SqlStores.layer.pipe(Layer.provideMerge(EmptyPglite.layer))))
)

it.live("a directory whose files are broken is refused by its name, with what to do", () =>
  Effect.gen(function* () {
    const { directory } = yield* Homes.directory
    writeFileSync(join(directory, "pgdata/global/pg_control"), "broken")
    const error = yield* Effect.flip(Layer.build(Pglite.layer({ directory })))
    assert.strictEqual(error._tag, "SqlError")
    assert.include(error.message, directory)
    assert.include(error.message, "Restore a backup")
  }).pipe(Effect.scoped)
)
