/**
 * PGlite for tests: in memory, and empty each time. Making one costs seconds of CPU time, loading its dump more than half
 * of one: the dump is made once, and what a test leaves is emptied for the next one of the process.
 */
import { createHash } from "node:crypto"
import { openAsBlob, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { PGlite } from "@electric-sql/pglite"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import type { SqlNotify } from "../../layers/sql/engine/SqlNotify.ts"
import { kept } from "./Kept.ts"

const dumped = async (path: string): Promise<void> => {
  const pg = await PGlite.create()
  const dump = await pg.dumpDataDir("none")
  await pg.close()
  writeFileSync(path, Buffer.from(await dump.arrayBuffer()))
}

const dump = Effect.suspend(() => {
  const lock = readFileSync(join(import.meta.dirname, "../../package-lock.json"))
  const digest = createHash("sha256").update(lock).digest("hex").slice(0, 16)
  return kept("empty", digest, (path) => Effect.promise(() => dumped(path)))
})

interface Instance {
  readonly context: Context.Context<SqlClient.SqlClient | SqlNotify>
  readonly scope: Scope.Closeable
  /** What its session has set, as it was opened. */
  readonly settings: string
  uses: number
}

const idle: Array<Instance> = []
/** More are closed: a test needs two at most. */
const idle_max = 2
/** The catalogue grows with each use, and nothing vacuums it. */
const uses_max = 25
/** A session that somebody still holds is given up after this. */
const reset_ms_max = 5_000

const settings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql.unsafe<{ readonly said: string | null }>(
    "SELECT string_agg(name || ' ' || setting, ',' ORDER BY name) AS said FROM pg_settings WHERE source = 'session'"
  )
  return rows[0]?.said ?? ""
})

const opened: Effect.Effect<Instance, unknown> = Effect.gen(function* () {
  const load = yield* Effect.flatMap(dump, (path) => Effect.promise(() => openAsBlob(path)))
  const scope = yield* Scope.make()
  const context = yield* Layer.buildWithScope(Layer.fresh(Pglite.layer({ load })), scope)
  return { context, scope, settings: yield* Effect.provide(settings, context), uses: 0 }
})

/** Every schema with what is in it, and whatever a session keeps besides its settings. */
const emptied = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
    LOOP EXECUTE format('DROP SCHEMA %I CASCADE', name); END LOOP;
    CREATE SCHEMA public;
  END $$`)
  for (const rest of ["UNLISTEN *", "DEALLOCATE ALL", "DISCARD TEMP", "DISCARD PLANS"]) {
    yield* sql.unsafe(rest)
  }
  return yield* settings
})

/** Whether it is as it was opened. The real clock, also in a test that sets its own. */
const isEmptied = (instance: Instance): Effect.Effect<boolean> =>
  Effect.raceFirst(
    Effect.match(Effect.provide(emptied, instance.context), {
      onSuccess: (found) => found === instance.settings,
      onFailure: () => false
    }),
    Effect.as(
      Effect.promise(() => setTimeout(reset_ms_max, undefined, { ref: false })),
      false
    )
  )

const giveBack = (instance: Instance) =>
  Effect.gen(function* () {
    instance.uses++
    const fits = instance.uses < uses_max && idle.length < idle_max
    if (fits && (yield* isEmptied(instance))) idle.push(instance)
    else yield* Scope.close(instance.scope, Exit.void)
  })

export const layer: Layer.Layer<SqlClient.SqlClient | SqlNotify, SqlError.SqlError> =
  Layer.effectContext(
    Effect.map(
      Effect.acquireRelease(
        Effect.suspend(() => {
          const instance = idle.pop()
          return instance === undefined ? Effect.orDie(opened) : Effect.succeed(instance)
        }),
        giveBack
      ),
      ({ context }) => context
    )
  )
