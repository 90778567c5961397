/** What `troupe` does with a store that is not there, of another version, or somebody else's; and beside another of its kind. */
import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as ArchiveFile from "../../layers/sql/archive/ArchiveFile.ts"
import * as RunExport from "../../layers/sql/archive/RunExport.ts"
import * as RunImport from "../../layers/sql/archive/RunImport.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Tenant } from "../../src/value/Ids.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"

const agents = [AgentSpec.make({ name: "shop", instructions: "Help." })]
const model = scripted(() => text("hello"))

const troupe = Effect.fnUntraced(function* (postgres: string, ...args: ReadonlyArray<string>) {
  const env = { TROUPE_DATABASE_URL: postgres, TROUPE_DATA: "" }
  const child = yield* Children.start("scripts/troupe.ts", args, env)
  const { code } = yield* child.ended
  return { code, text: child.text() }
})

const query = (postgres: string, statement: string) =>
  Effect.provide(
    PgClient.PgClient.use((sql) => sql.unsafe(statement)),
    PgClient.layer({ url: Redacted.make(postgres), maxConnections: 1 })
  )

const schemas = (postgres: string) =>
  query(postgres, "SELECT to_regnamespace('troupe')::text AS schema")

it.live(
  "a command that reads makes no store, and says which database it looked at",
  () =>
    Effect.gen(function* () {
      const empty = yield* EmbeddedPostgres.database
      const name = empty.split("/").at(-1)!
      const archive = join(yield* Homes.temporary, "runs.jsonl")
      const none = yield* troupe(empty, "export", archive)
      assert.strictEqual(none.code, 1, none.text)
      assert.match(none.text, new RegExp(`database ${name} at .*: there is no store of Troupe in`))
      assert.deepStrictEqual(yield* schemas(empty), [{ schema: null }])
      assert.isFalse(existsSync(archive))

      const absent = yield* troupe(`${empty}_absent`, "token", "list")
      assert.strictEqual(absent.code, 1, absent.text)
      assert.include(absent.text, `has no database ${name}_absent (3D000)`)
      const examined = yield* troupe(`${empty}_absent`, "doctor")
      assert.strictEqual(examined.code, 2, examined.text)
      assert.include(examined.text, `database "${name}_absent" does not exist`)
    }),
  { timeout: 120_000 }
)

it.live(
  "a store from before the first release is left as it is by a command, and named by an examination",
  () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres.migrated
      yield* query(postgres, "UPDATE troupe.migrations SET name = 'schema' WHERE migration_id = 1")
      yield* query(
        postgres,
        "INSERT INTO troupe.migrations (migration_id, name) VALUES (2, 'messages')"
      )
      const listed = yield* troupe(postgres, "token", "list")
      assert.strictEqual(listed.code, 1, listed.text)
      assert.include(listed.text, "made by a version of Troupe from before its first release")
      const examined = yield* troupe(postgres, "doctor")
      assert.strictEqual(examined.code, 2, examined.text)
      assert.match(
        examined.text,
        /fault +schema +migration 1 is "schema", which is none of Troupe's/
      )
      const list = "SELECT name FROM troupe.migrations ORDER BY migration_id"
      assert.deepStrictEqual(yield* query(postgres, list), [
        { name: "schema" },
        { name: "messages" }
      ])
    }),
  { timeout: 60_000 }
)

it.live(
  "an export of a tenant whose name is empty, or before a day that does not exist, writes nothing",
  () =>
    Effect.gen(function* () {
      const archive = join(yield* Homes.temporary, "runs.jsonl")
      const postgres = yield* EmbeddedPostgres.migrated
      const refused = yield* troupe(postgres, "export", archive, "--tenant", "")
      assert.strictEqual(refused.code, 2, refused.text)
      assert.include(refused.text, `"" is no tenant`)
      const late = yield* troupe(postgres, "export", archive, "--before", "2026-02-31")
      assert.strictEqual(late.code, 2, late.text)
      assert.include(late.text, "a date that exists")
      assert.isFalse(existsSync(archive))
    }),
  { timeout: 60_000 }
)

it.live(
  "a schema troupe of somebody else is refused by a start and a command, and found by an examination",
  () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres.database
      yield* query(postgres, "CREATE SCHEMA troupe")
      yield* query(postgres, "CREATE TABLE troupe.runs (id int)")
      const why = 'the database has a schema "troupe" that Troupe did not make'
      const error = yield* Effect.flip(
        Effect.tryPromise(() => start({ agents, model, store: { postgres } }))
      )
      assert.include(String((error.cause as Error).message), why)
      for (const args of [["doctor"], ["token", "list"]]) {
        const { code, text: said } = yield* troupe(postgres, ...args)
        assert.isAbove(code ?? 0, 0)
        assert.include(said, why)
      }
      assert.deepStrictEqual(
        yield* query(
          postgres,
          "SELECT count(*)::int AS n FROM pg_class WHERE relnamespace = 'troupe'::regnamespace"
        ),
        [{ n: 1 }]
      )
    }),
  { timeout: 120_000 }
)

for (const [name, stores, isKept] of [
  ["a service", Stores.ephemeral, false],
  ["a command", Stores.withoutSweeps(Stores.ephemeral), true]
] as const) {
  it.effect(
    `what is uploaded and not sent for two days is ${isKept ? "kept" : "removed"} while ${name} uses the store`,
    () =>
      Effect.gen(function* () {
        const blobs = yield* BlobStore
        const bytes = new TextEncoder().encode("a picture")
        const digest = createHash("sha256").update(bytes).digest("hex")
        const tenant = Tenant.make("acme")
        yield* blobs.put(
          tenant,
          { digest, media_type: "image/png" },
          bytes,
          { uploaded_by: "olga" },
          1_000
        )
        yield* TestClock.adjust("2 days")
        assert.strictEqual((yield* blobs.get(tenant, digest, 0, 1)) !== undefined, isKept)
      }).pipe(Effect.provide(Layer.fresh(stores)))
  )
}

const messages = 30

it.live(
  "of two imports at once each counts the runs that it brought",
  () =>
    Effect.gen(function* () {
      const from = yield* EmbeddedPostgres.migrated
      const service = yield* Effect.promise(() =>
        start({ agents, model, store: { postgres: from } })
      )
      yield* Effect.promise(() =>
        Promise.all(
          Array.from({ length: messages }, () => service.ask({ agent: "shop", text: "Hi" }))
        )
      )
      yield* Effect.promise(() => service.stop())
      const archive = join(yield* Homes.temporary, "runs.jsonl")
      yield* Effect.provide(
        ArchiveFile.writeFile(archive, (write) =>
          RunExport.exportRuns(RunExport.endedRuns({}), 1, write)
        ),
        Stores.postgres(Redacted.make(from))
      )
      const to = Redacted.make(yield* EmbeddedPostgres.migrated)
      const once = Effect.provide(RunImport.importRuns(archive), Layer.fresh(Stores.postgres(to)))
      const [one, other] = yield* Effect.all([once, once], { concurrency: 2 })
      assert.strictEqual(one.runs + other.runs, messages)
      for (const { known, runs } of [one, other]) assert.strictEqual(known + runs, messages)
    }),
  { timeout: 60_000 }
)
