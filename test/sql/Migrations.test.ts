/** Databases that an earlier commit made: upgraded without a difference, or refused without a change. */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, it, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { MayUpgrade } from "../../layers/sql/engine/MayUpgrade.ts"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { isFull } from "../Long.ts"
import * as H from "../runtime/Harness.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import { emptyEngines } from "./Engines.ts"
import * as SqlDump from "./SqlDump.ts"
import * as Waiting from "./Waiting.ts"

const folder = join(import.meta.dirname, "../../layers/sql/engine/migrations")
const dumps = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".sql"))
/** Of the short form: the oldest, from which each migration is made, and the newest. */
const loaded = isFull ? dumps : [dumps[0]!, dumps.at(-1)!]

/** Tables, columns, indexes, constraints, policies, views, triggers and functions; the order of columns is not compared. */
const schema = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql.unsafe<{ readonly entry: string }>(
    `SELECT concat_ws(' ', c.relname, c.relkind, c.reloptions::text, c.relrowsecurity) AS entry FROM pg_class c
       WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind IN ('r', 'S')
     UNION ALL SELECT concat_ws(' ', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
         a.attidentity, a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid))
       FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
       WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
     UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'troupe'
     UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
       WHERE connamespace = 'troupe'::regnamespace
     UNION ALL SELECT concat_ws(' ', tablename, policyname, permissive, roles, cmd, qual, with_check) FROM pg_policies WHERE schemaname = 'troupe'
     UNION ALL SELECT viewname || ' ' || definition FROM pg_views WHERE schemaname = 'troupe'
     UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
       WHERE c.relnamespace = 'troupe'::regnamespace AND NOT t.tgisinternal
     UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'troupe'::regnamespace
     ORDER BY 1`
  )
  return rows.map(({ entry }) => entry)
})

for (const [engine, client] of emptyEngines) {
  for (const name of loaded) {
    layer(client, { excludeTestServices: true, timeout: "2 minutes" })(
      `${name} (${engine})`,
      (it) => {
        it.effect("an upgraded database has the schema of a new one, and its runs go on", () =>
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            yield* SqlDump.load(join(import.meta.dirname, name))
            yield* sql.unsafe(
              `INSERT INTO troupe.call_records (key, tenant, run_id, tool_name, ended_at, record)
               VALUES ('"k"', '"acme"', gen_random_uuid(), '"t"', 0, '{}')`
            )
            yield* Migrations.run
            // Records of calls had their tenant as JSON until 0013.
            assert.deepStrictEqual(yield* sql.unsafe("SELECT tenant FROM troupe.call_records"), [
              { tenant: name < "0013" ? "acme" : '"acme"' }
            ])
            const tasks = yield* sql.unsafe<{ readonly id: RunId }>(
              "SELECT id FROM troupe.agent_tasks ORDER BY ordinal"
            )
            const upgraded = yield* schema
            yield* Effect.gen(function* () {
              const process = yield* H.boot(Waiting.options)
              const [question] = yield* process.run(H.pending)
              yield* process.run(H.decide(question!.id, H.approve))
              const first = yield* process.run(H.ended(question!.run_id))
              assert.deepStrictEqual(H.outcome(first), { _tag: "Value", json: `"changed"` })
              const second = yield* process.run(H.ended(tasks[1]!.id))
              assert.deepInclude(H.end(second), { status: "complete" })
            }).pipe(Effect.scoped, Effect.provide(Waiting.stores))
            yield* sql.unsafe("DROP SCHEMA troupe CASCADE")
            // Nothing of an upgraded or a new database is elsewhere, but for the extension.
            assert.deepStrictEqual(
              yield* sql.unsafe(
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
              ),
              []
            )
            yield* Migrations.run
            assert.deepStrictEqual(upgraded, yield* schema)
          })
        )
      }
    )
  }
}

it.live(
  "a database from before the first release is refused by name, and nothing of it is changed",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql.unsafe(
        "CREATE TABLE troupe_migrations (migration_id integer primary key, created_at timestamptz not null default now(), name text not null)"
      )
      yield* sql.unsafe(
        "INSERT INTO troupe_migrations (migration_id, name) VALUES (1, 'runs'), (2, 'delivery')"
      )
      yield* sql.unsafe("CREATE SCHEMA troupe")
      yield* sql.unsafe("CREATE TABLE troupe.runs (run_id uuid PRIMARY KEY)")
      const before = yield* schema
      const error = yield* Effect.flip(Migrations.run)
      assert.strictEqual(error._tag, "MigrationError")
      assert.include(error.message, `its migration 1 is "runs", not "schema"`)
      assert.include(error.message, "Use an empty database or another data directory")
      assert.deepStrictEqual(yield* schema, before)
      assert.lengthOf(yield* sql.unsafe("SELECT FROM troupe_migrations"), 2)
    }).pipe(Effect.provide(emptyEngines[0]![1]))
)

it.live(
  "a database with another encoding than UTF-8 is refused, and nothing of it is changed",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const error = yield* Effect.flip(Migrations.run)
      assert.include(error.message, "the encoding of this database is SQL_ASCII")
      const found = yield* sql.unsafe("SELECT FROM pg_namespace WHERE nspname LIKE 'troupe%'")
      assert.deepStrictEqual(found, [])
    }).pipe(Effect.provide(EmbeddedPostgres.clientOf(EmbeddedPostgres.anyBytes)))
)

it.live(
  "a database that a newer process migrated further serves this one too, with a warning",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => void lines.push(String(message)))
      const run = Effect.provide(Migrations.run, Logger.layer([logger]))
      yield* run
      assert.deepStrictEqual(lines, [])
      yield* sql.unsafe("INSERT INTO troupe.migrations (migration_id, name) VALUES (9999, 'later')")
      assert.deepStrictEqual(yield* run, [])
      assert.lengthOf(lines, 1)
      assert.include(lines[0], "a newer version runs on it")
    }).pipe(Effect.provide(emptyEngines[0]![1]))
)

it.live(
  "a database that a newer version keeps from this one is refused with both versions, and nothing of it is changed",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { newest } = Migrations
      const later = (id: number, name: string) =>
        sql`INSERT INTO troupe.migrations (migration_id, name) VALUES (${id}, ${name})`
      const named = (needed: number, digits: number) =>
        `heads_needs_${String(needed).padStart(digits, "0")}`
      yield* Migrations.run
      yield* later(newest + 1, named(newest, 4))
      assert.deepStrictEqual(yield* Migrations.run, [])
      yield* later(newest + 2, named(newest + 1, 4))
      yield* later(newest + 3, "tails")
      const before = yield* schema
      const start = Effect.provide(Effect.void, Layer.fresh(Migrations.layer))
      for (const may of [true, false]) {
        const error = yield* Effect.flip(Effect.provideService(start, MayUpgrade, may))
        assert.deepInclude(error, { _tag: "StoreTooNew", needed: newest + 1, known: newest })
        assert.include(
          error.message,
          `the schema has migration ${newest + 3}, and this version ends with ${newest}`
        )
        assert.include(error.message, `Start the version that migrated the store`)
      }
      assert.deepStrictEqual(yield* schema, before)
      // Nobody goes on because a zero is missing in the name.
      yield* sql`UPDATE troupe.migrations SET name = ${named(newest + 1, 1)} WHERE migration_id = ${newest + 2}`
      // Before a missing migration runs as well.
      yield* sql`DELETE FROM troupe.migrations WHERE migration_id = ${newest}`
      assert.strictEqual((yield* Effect.flip(Migrations.run))._tag, "StoreTooNew")
    }).pipe(Effect.provide(emptyEngines[0]![1]))
)

it("each migration has the dump of a database that it made", () => {
  const numbers = new Set(readdirSync(folder).map((file) => file.slice(0, 4)))
  assert.deepStrictEqual(
    dumps.map((name) => name.slice(0, 4)),
    [...numbers]
  )
})
