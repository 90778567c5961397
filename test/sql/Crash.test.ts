/** kill -9 in the middle of appends: what was acknowledged is there afterwards. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import type { SqlNotify } from "../../layers/sql/engine/SqlNotify.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunId } from "../../src/value/Ids.ts"
import * as Homes from "../process/Homes.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import * as PostgresServer from "./PostgresServer.ts"
import * as Process from "./Process.ts"

const rounds = 2
const acknowledged_min = 300

/** The greatest acknowledged seq of each run. */
const acknowledged = (lines: ReadonlyArray<string>): ReadonlyMap<RunId, number> =>
  new Map(
    lines.flatMap((line) => {
      const found = /^([0-9a-f-]{36}) (\d+)$/.exec(line)
      return found === null ? [] : [[found[1] as RunId, Number(found[2])] as const]
    })
  )

/** Until it has acknowledged many events, and those of more than one run. */
const atWork = (child: Process.Process): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* child.printed(acknowledged_min)
    while (acknowledged(child.lines()).size < 2) yield* child.printed(child.lines().length + 1)
  })

/** Every acknowledged event is there, without a gap, and the head counts them. */
const assertKept = Effect.fnUntraced(function* (runs: ReadonlyMap<RunId, number>) {
  const reader = yield* RunReader
  const ownership = yield* RunOwnership
  assert.isAbove(runs.size, 1)
  for (const [run, seq] of runs) {
    const entries = yield* reader.read(run, 0, 10_000)
    assert.isAbove(entries.length, seq)
    assert.isTrue(entries.every((entry, index) => entry.seq === index))
    assert.strictEqual((yield* reader.head(run)).length, entries.length)
    // The run goes on under its next owner.
    yield* ownership.claim(run, "heir")
  }
})

const survives = (
  engine: string,
  place: string,
  database: Layer.Layer<SqlClient.SqlClient | SqlNotify, unknown>
) =>
  Effect.gen(function* () {
    for (let round = 0; round < rounds; round++) {
      const lines = yield* Effect.scoped(
        Effect.gen(function* () {
          const child = yield* Process.run("test/sql/appender.ts", engine, place)
          yield* atWork(child)
          yield* child.kill
          return child.lines()
        })
      )
      yield* Effect.provide(
        assertKept(acknowledged(lines)),
        Layer.provide(SqlStores.layer, Layer.fresh(database))
      )
    }
  })

it.live(
  "a process killed on PGlite loses nothing that was acknowledged",
  () =>
    Effect.gen(function* () {
      const { directory } = yield* Homes.directory
      yield* survives("pglite", directory, Pglite.layer({ directory }))
    }),
  120_000
)

it.live(
  "a process killed on PostgreSQL loses nothing that was acknowledged",
  () =>
    Effect.gen(function* () {
      const url = yield* EmbeddedPostgres.database
      yield* survives("postgres", url, Postgres.layer({ url: Redacted.make(url) }))
    }),
  120_000
)

it.live(
  "a killed PostgreSQL server loses nothing, and the same process listens and writes again",
  () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => PostgresServer.launch()),
        (server) => Effect.promise(() => server.stop())
      )
      const url = EmbeddedPostgres.urlOf(String(server.port), "postgres")
      const child = yield* Process.run("test/sql/appender.ts", "postgres", url)
      yield* atWork(child)
      yield* Effect.gen(function* () {
        const reader = yield* RunReader
        yield* Effect.promise(() => server.crash())
        const during = yield* Effect.flip(
          reader.read("00000000-0000-4000-8000-000000000000" as RunId, 0, 1)
        )
        assert.strictEqual(during._tag, "JournalError")
        yield* Effect.promise(() => server.start())
        yield* Effect.retry(assertKept(acknowledged(child.lines())), {
          times: 20,
          while: (error) => error._tag === "JournalError"
        })
      }).pipe(
        Effect.provide(Layer.provide(SqlStores.layer, Postgres.layer({ url: Redacted.make(url) })))
      )
    }),
  120_000
)
