/** The tables that a feature makes beside those of every store: row security, declarations, later versions, and what is refused. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import * as FeatureTables from "../../layers/sql/engine/FeatureTables.ts"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import { MayUpgrade } from "../../layers/sql/engine/Upgrading.ts"
import { TenantReads } from "../../layers/sql/engine/TenantReads.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { eventually } from "../contracts/Contract.ts"
import { engines } from "./Engines.ts"

const acme = Tenant.make("acme")

const notes = `CREATE TABLE troupe.shop_notes (
  tenant text NOT NULL, id int4 NOT NULL, about text NOT NULL, note text NOT NULL, PRIMARY KEY (tenant, id))`
const settings = `CREATE TABLE troupe.shop_settings (
  tenant text PRIMARY KEY, muted boolean NOT NULL DEFAULT false, record text NOT NULL DEFAULT '{}', "user" text NOT NULL DEFAULT '')`

const shop = {
  feature: "shop",
  migrations: { "0001_notes": [notes, settings] },
  tables: { shop_notes: ["about", "note"], shop_settings: { record: ["by"], user: "text" } }
} satisfies FeatureTables.FeatureTables

const made = (of: FeatureTables.FeatureTables) =>
  Effect.scoped(Effect.asVoid(Layer.build(Layer.fresh(FeatureTables.layer(of)))))

/** What there is of the feature: its tables with their security, its declarations and its list. */
const state = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql.unsafe(
    `SELECT c.relname::text AS name, c.relrowsecurity AS secured,
       (SELECT count(*)::int4 FROM pg_policies p WHERE p.tablename = c.relname) AS policies
     FROM pg_class c WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind = 'r' AND c.relname ~ '^shop_' ORDER BY 1`
  )
  const declared = yield* sql.unsafe(
    "SELECT name, erased FROM troupe.feature_tables WHERE feature = 'shop' ORDER BY name"
  )
  return [tables, declared].map((rows) => rows.map((row) => Object.values(row)))
})

const whole = [
  [
    ["shop_notes", true, 1],
    ["shop_settings", true, 1]
  ],
  [
    ["shop_notes", '["about","note"]'],
    ["shop_settings", '{"record":["by"],"user":"text"}']
  ]
]

const add = (tenant: string, id: number, note: string) =>
  SqlClient.SqlClient.use((sql) =>
    sql.unsafe("INSERT INTO troupe.shop_notes VALUES ($1::text, $2::int4, $3::text, $3::text)", [
      tenant,
      id,
      JSON.stringify(note)
    ])
  )

/** Leaves nothing of the feature. */
const forget = SqlClient.SqlClient.use((sql) =>
  Effect.forEach(
    [
      "DROP TABLE troupe.shop_notes, troupe.shop_settings, troupe.migrations_shop",
      "DELETE FROM troupe.feature_tables WHERE feature = 'shop'"
    ],
    (statement) => sql.unsafe(statement)
  )
)

for (const [engine, client] of engines) {
  layer(client, { excludeTestServices: true, timeout: "2 minutes" })(
    `the tables of a feature (${engine})`,
    (it) => {
      it.effect(
        "are made once, each with row security, and keep one tenant's rows from another",
        () =>
          Effect.gen(function* () {
            yield* made(shop)
            assert.deepStrictEqual(yield* state, whole)
            yield* made(shop)
            assert.deepStrictEqual(yield* state, whole)
            yield* add("acme", 1, "ours")
            yield* add("other", 1, "theirs")
            const sql = yield* SqlClient.SqlClient
            const seen = yield* Effect.scoped(
              Effect.flatMap(Layer.build(Layer.fresh(FeatureTables.layer(shop))), (context) =>
                Effect.provideContext(
                  TenantReads.use((reads) =>
                    reads.of(acme)(sql.unsafe("SELECT note FROM troupe.shop_notes"))
                  ),
                  context
                )
              )
            )
            assert.deepStrictEqual(
              seen.map((row) => ({ ...row })),
              [{ note: '"ours"' }]
            )
          })
      )

      it.effect("are erased in by a process that does not have the feature", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* add("acme", 2, "olga called")
          yield* sql.unsafe(
            `INSERT INTO troupe.shop_settings (tenant, record) VALUES ('acme', '{"by":"olga","to":"olga"}')`
          )
          const report = yield* Effect.scoped(
            Effect.flatMap(Layer.build(Layer.fresh(SqlStores.layer)), (context) =>
              Effect.provideContext(
                SubjectErasure.use((erasure) =>
                  erasure.erase({ tenant: acme, subject: "olga", by: "ann" })
                ),
                context
              )
            )
          )
          assert.strictEqual(report.erased["shop_notes"], 1)
          assert.strictEqual(report.erased["shop_settings"], 1)
          const left = yield* sql.unsafe<{ readonly note: string }>(
            "SELECT note FROM troupe.shop_notes WHERE tenant = 'acme'"
          )
          assert.deepStrictEqual(
            left.map(({ note }) => note),
            ['"ours"']
          )
          const [kept] = yield* sql.unsafe<{ readonly record: string }>(
            "SELECT record FROM troupe.shop_settings"
          )
          const record: unknown = JSON.parse(kept!.record)
          assert.deepInclude(record as object, { to: "olga" })
          assert.notDeepInclude(record as object, { by: "olga" })
        })
      )

      it.effect("change with a later version, which an earlier one beside it does not undo", () =>
        Effect.gen(function* () {
          const later = {
            ...shop,
            migrations: {
              ...shop.migrations,
              "0002_color": ["ALTER TABLE troupe.shop_settings ADD color text"]
            },
            tables: { ...shop.tables, shop_settings: { record: ["by"], color: "text" } }
          } satisfies FeatureTables.FeatureTables
          const looked = yield* Effect.flip(Effect.provideService(made(later), MayUpgrade, false))
          assert.include(
            looked.message,
            "is of an older version of the feature shop: it has migration 1 of 2"
          )
          const renamed = { ...shop, migrations: { "0001_tags": shop.migrations["0001_notes"] } }
          const named = yield* Effect.flip(made(renamed))
          assert.include(
            named.message,
            "the feature shop has a migration 0001_tags, and this database ran it as 0001_notes"
          )
          assert.include(named.message, "A migration that ran keeps its name")
          assert.notInclude(named.message, "empty database")
          const other = { feature: "other", migrations: shop.migrations, tables: {} }
          const none = yield* Effect.flip(Effect.provideService(made(other), MayUpgrade, false))
          assert.include(none.message, "this store has no tables of the feature other")
          assert.deepStrictEqual(yield* state, whole)
          yield* made(later)
          const said: Array<unknown> = []
          yield* Effect.provide(
            made(shop),
            Logger.layer([Logger.make(({ message }) => void said.push(message))])
          )
          assert.include(
            JSON.stringify(said),
            "the feature shop has migration 2 here, and this version of the feature ends with 1"
          )
          const [, declared] = yield* state
          assert.deepStrictEqual(declared![1], [
            "shop_settings",
            '{"record":["by"],"color":"text"}'
          ])
          yield* forget
        })
      )

      // PGlite is one process.
      if (engine === "PostgreSQL") {
        it.effect(
          "are made by several processes at once, and beside another that migrates the store",
          () =>
            Effect.gen(function* () {
              const sql = yield* SqlClient.SqlClient
              const other = {
                feature: "other",
                migrations: { "0001_notes": ["CREATE TABLE troupe.other_notes (tenant text)"] },
                tables: { other_notes: {} }
              }
              const isHeld = yield* Deferred.make<void>()
              const first = yield* Effect.forkChild(
                Effect.andThen(Deferred.await(isHeld), made(shop))
              )
              yield* sql.withTransaction(
                Effect.gen(function* () {
                  yield* Migrations.alone
                  yield* sql.unsafe("CREATE TABLE troupe.of_a_later_version (tenant text)")
                  yield* Deferred.succeed(isHeld, undefined)
                  yield* eventually(
                    // Other tests have databases on the same server.
                    sql.unsafe(`SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                    WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`),
                    (rows) => rows.length > 0
                  )
                })
              )
              yield* Fiber.join(first)
              yield* Effect.all([shop, other, other].map(made), { concurrency: "unbounded" })
              assert.deepStrictEqual(yield* state, whole)
              yield* forget
              yield* sql.unsafe("DROP TABLE troupe.of_a_later_version")
            })
        )
      }

      it.effect(
        "are refused where they and their declaration do not fit, and nothing is made",
        () =>
          Effect.gen(function* () {
            const { shop_settings: _left, ...one } = shop.tables
            const bare = ["CREATE TABLE troupe.shop_bare (id int4)"]
            const wrong: ReadonlyArray<readonly [FeatureTables.FeatureTables, string]> = [
              [
                { ...shop, tables: one },
                "makes the table shop_settings, which it does not declare"
              ],
              [
                { ...shop, tables: { ...shop.tables, shop_none: {} } },
                "declares the table shop_none, which is not there"
              ],
              [
                { feature: "shop", migrations: { "0001_notes": bare }, tables: { shop_bare: {} } },
                "has no column tenant"
              ],
              [
                { ...shop, of_all: ["shop_notes"] },
                "has a column tenant, so it is not of all tenants"
              ],
              // An erasure in these would fail, for every subject of the database.
              [
                { ...shop, tables: { ...shop.tables, shop_notes: ["about", "notes"] } },
                "has no column notes that could be erased"
              ],
              [
                { ...shop, tables: { ...shop.tables, shop_settings: { muted: "text" } } },
                "has a column muted that is no text"
              ],
              [
                {
                  feature: "shop",
                  migrations: { "0001_notes": bare },
                  tables: { shop_bare: ["id"] },
                  of_all: ["shop_bare"]
                },
                "is of all tenants, so nothing in it can be erased"
              ],
              // It is of every store, so its rows are no feature's to erase.
              [
                { ...shop, tables: { ...shop.tables, outbox: ["payload"] } },
                "declares the table outbox, which it does not make"
              ],
              [
                { ...shop, migrations: { "0002_notes": shop.migrations["0001_notes"] } },
                "are not numbered from 0001 on"
              ],
              [{ ...shop, feature: "Shop 2" }, "is none for its tables"],
              [
                { ...shop, migrations: { "0001_notes": [notes, "SELECT 1 / 0"] } },
                "migration 0001_notes of the feature shop failed: division by zero"
              ]
            ]
            for (const [of, said] of wrong) {
              const error = yield* Effect.flip(made(of))
              assert.strictEqual(error._tag, "MigrationError")
              assert.include(error.message, said)
              assert.deepStrictEqual(yield* state, [[], []])
            }
            // What is of all tenants says so.
            yield* made({
              feature: "shop",
              migrations: { "0001_notes": bare },
              tables: { shop_bare: {} },
              of_all: ["shop_bare"]
            })
            assert.deepStrictEqual((yield* state)[0], [["shop_bare", false, 0]])
          })
      )
    }
  )
}
