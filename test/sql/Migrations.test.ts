/** The schema of a new database, how a later version changes it, and databases that are refused without a change. */
import { assert, it, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import * as Doctor from "../../layers/compose/entries/Doctor.ts"
import type { App } from "../../layers/compose/entries/Replay.ts"
import { MayUpgrade } from "../../layers/sql/engine/Upgrading.ts"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import { emptyEngines } from "./Engines.ts"
import { schemaEntries } from "./SchemaEntries.ts"

/** What the schema has, and the list of migrations. */
const schema = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const isListed =
    (yield* sql.unsafe("SELECT WHERE to_regclass('troupe.migrations') IS NOT NULL")).length > 0
  const listed = isListed
    ? yield* sql.unsafe<{ readonly entry: string }>(
        "SELECT m::text AS entry FROM troupe.migrations m ORDER BY 1"
      )
    : []
  return [...(yield* schemaEntries), ...listed.map(({ entry }) => entry)]
})

const start = Effect.provide(Effect.void, Layer.fresh(Migrations.layer))
/** Of a command, which makes no store and brings none up to date. */
const look = Effect.provideService(start, MayUpgrade, false)

/** As the version after this one, which has another migration. */
const withNext =
  (migration: Effect.Effect<unknown, SqlError.SqlError, SqlClient.SqlClient>) =>
  <A, E, R>(use: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Migrations.Known, (known) =>
      Effect.provideService(use, Migrations.Known, {
        ...known,
        [`${String(Object.keys(known).length + 1).padStart(4, "0")}_next`]: Effect.asVoid(migration)
      })
    )

const next = SqlClient.SqlClient.use((sql) => sql.unsafe("CREATE TABLE troupe.next (id int4)"))
const broken = SqlClient.SqlClient.use((sql) => Effect.andThen(next, sql.unsafe("SELECT 1 / 0")))

/** Fails with an error that says this, and changes nothing. */
const refused = Effect.fnUntraced(function* <E extends { readonly message: string }, R>(
  use: Effect.Effect<unknown, E, R>,
  said: string
) {
  const before = yield* schema
  const error = yield* Effect.flip(use)
  assert.include(error.message, said)
  assert.deepStrictEqual(yield* schema, before)
  return error
})

for (const [engine, client] of emptyEngines) {
  layer(client, { excludeTestServices: true, timeout: "2 minutes" })(
    `a new database (${engine})`,
    (it) => {
      it.effect("gets the schema at its start, once, and nothing elsewhere", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* refused(look, "there is no store of Troupe in this database")
          assert.deepStrictEqual(yield* Migrations.run, [[1, "start"]])
          const made = yield* schema
          assert.isAbove(made.length, 500)
          assert.deepStrictEqual(yield* Migrations.run, [])
          yield* look
          assert.deepStrictEqual(yield* schema, made)
          const elsewhere =
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
          assert.deepStrictEqual(yield* sql.unsafe(elsewhere), [])
          yield* sql.unsafe("DROP SCHEMA troupe CASCADE")
        })
      )

      it.effect("has nothing of a migration that fails, nor of those before it", () =>
        Effect.gen(function* () {
          const why = `Migration "2_next" failed: division by zero`
          assert.deepStrictEqual(yield* schema, [])
          yield* refused(withNext(broken)(Migrations.run), why)
          assert.deepStrictEqual(yield* schema, [])
          yield* Migrations.run
          yield* refused(withNext(broken)(Migrations.run), why)
          assert.deepStrictEqual(yield* Migrations.run, [])
        })
      )

      it.effect("gets what a later version adds, from that version's start on", () =>
        Effect.gen(function* () {
          const older = yield* schema
          const said = `this store is of an older version: it has migration 1 of 2. Nothing was changed`
          yield* refused(withNext(next)(look), said)
          assert.deepStrictEqual(yield* withNext(next)(Migrations.run), [[2, "next"]])
          yield* withNext(next)(look)
          assert.includeMembers(yield* schema, [...older, "next r f"])
          // This one goes on beside it.
          assert.deepStrictEqual(yield* Migrations.run, [])
        })
      )
    }
  )
}

const app: App<unknown, never> = { agents: [], tools: [] }

it.live("an examination names a store of an older version, and leaves it as it is", () =>
  Effect.gen(function* () {
    const url = Redacted.make(yield* EmbeddedPostgres.migrated)
    const found = yield* withNext(next)(Doctor.examinePostgres(url, app))
    const of = (check: string) =>
      found.filter((each) => each.check === check).map(({ level, message }) => [level, message])
    assert.deepStrictEqual(of("schema"), [
      ["warning", "the schema has migration 1 of 2: the next start runs the rest"]
    ])
    assert.strictEqual(of("work")[0]?.[0], "unknown")
    const after = yield* Doctor.examinePostgres(url, app)
    assert.deepInclude(after, {
      check: "schema",
      level: "ok",
      message: "all 1 migrations have run"
    })
  })
)

/** The migrations of versions from before the first release. */
const unreleased =
  "schema messages plans worlds sets memory platform authorizations channels files tenants tokens erasures handoffs drafts pairs answers messages stops guards".split(
    " "
  )

it.live(
  "a database from before the first release is refused by name, and nothing of it is changed",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      assert.lengthOf(unreleased, 20)
      yield* Migrations.run
      yield* sql.unsafe("DELETE FROM troupe.migrations")
      for (const [i, name] of unreleased.entries()) {
        yield* sql`INSERT INTO troupe.migrations (migration_id, name) VALUES (${i + 1}, ${name})`
      }
      for (const use of [Migrations.run, start, look]) {
        const error = yield* refused(use, `its migration 1 is "schema", not "start"`)
        assert.strictEqual(error._tag, "MigrationError")
        assert.include(error.message, "from before its first release")
        assert.include(error.message, "Use an empty database or another data directory")
      }
    }).pipe(Effect.provide(emptyEngines[0]![1]))
)

it.live("a schema troupe that somebody else made is refused, and nothing of it is changed", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe("CREATE SCHEMA troupe")
    yield* sql.unsafe("CREATE TABLE troupe.runs (run_id uuid PRIMARY KEY)")
    for (const use of [Migrations.run, start, look]) {
      const error = yield* refused(use, Migrations.foreign_message)
      assert.strictEqual(error._tag, "MigrationError")
    }
  }).pipe(Effect.provide(emptyEngines[0]![1]))
)

it.live(
  "a database with another encoding than UTF-8 is refused, and nothing of it is changed",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const use of [Migrations.run, look]) {
        const error = yield* Effect.flip(use)
        assert.include(error.message, "the encoding of this database is SQL_ASCII")
      }
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
      const newest = yield* Migrations.newest
      const later = (id: number, name: string) =>
        sql`INSERT INTO troupe.migrations (migration_id, name) VALUES (${id}, ${name})`
      const named = (needed: number, digits: number) =>
        `heads_needs_${String(needed).padStart(digits, "0")}`
      yield* Migrations.run
      yield* later(newest + 1, named(newest, 4))
      assert.deepStrictEqual(yield* Migrations.run, [])
      yield* later(newest + 2, named(newest + 1, 4))
      yield* later(newest + 3, "tails")
      for (const use of [start, look]) {
        const error = yield* refused(use, `Start the version that migrated the store`)
        assert.deepInclude(error, { _tag: "StoreTooNew", needed: newest + 1, known: newest })
        assert.include(
          error.message,
          `the schema has migration ${newest + 3}, and this version ends with ${newest}`
        )
      }
      // Nobody goes on because a zero is missing in the name.
      yield* sql`UPDATE troupe.migrations SET name = ${named(newest + 1, 1)} WHERE migration_id = ${newest + 2}`
      // Before a missing migration runs as well.
      yield* sql`DELETE FROM troupe.migrations WHERE migration_id = ${newest}`
      assert.strictEqual((yield* Effect.flip(Migrations.run))._tag, "StoreTooNew")
    }).pipe(Effect.provide(emptyEngines[0]![1]))
)
