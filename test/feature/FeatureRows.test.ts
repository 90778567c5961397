/** The rows of a feature's own table: what a query has to name, and what a row has to have. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { AgentSpec, Tenant } from "troupe"
import { start } from "troupe/embed"
import * as Feature from "troupe/feature"
import { feature, flag, int4, json, operation, optional, place } from "troupe/feature"
import { oneOf, Rows, said, serve, table, tableRows, text } from "troupe/feature"
import { scripted } from "troupe/testing"
import { afterAll, assert, describe, it } from "vitest"

const data = mkdtempSync(join(tmpdir(), "troupe-feature-rows-"))
afterAll(() => rmSync(data, { recursive: true, force: true }))

const notes = table({
  name: "own_notes",
  what: "notes",
  key: ["tenant", "id"],
  columns: { tenant: text(Tenant), id: text(Schema.String), said, size: optional(int4) }
})
const words = table({
  name: "own_words",
  what: "words",
  key: ["id"],
  columns: {
    id: text(Schema.String),
    at: place,
    is_on: flag,
    kind: oneOf({ literals: ["new", "old"] }),
    about: json(Schema.Struct({ by: Schema.String }))
  }
})
const drawers = table({
  name: "own_drawers",
  what: "drawers",
  key: ["id"],
  columns: { tenant: text(Tenant), id: text(Schema.String), said }
})
const migrations = {
  "0001_rows": [
    "CREATE TABLE troupe.own_notes (tenant text, id text, said text NOT NULL, size integer, PRIMARY KEY (tenant, id))",
    "CREATE TABLE troupe.own_words (id text PRIMARY KEY, at bigint GENERATED ALWAYS AS IDENTITY, is_on boolean NOT NULL, kind int2 NOT NULL, about text NOT NULL)",
    "CREATE TABLE troupe.own_drawers (tenant text NOT NULL, id text PRIMARY KEY, said text NOT NULL)"
  ]
}

type Open = {
  readonly notes: Feature.TableRows<(typeof notes)["columns"]>
  readonly words: Feature.TableRows<(typeof words)["columns"]>
  readonly drawers: Feature.TableRows<(typeof drawers)["columns"]>
}
type Use = (open: Open) => Effect.Effect<void, Feature.StoreError>

/** What an operation of the feature performs in the test that runs. */
let use: Use = () => Effect.void
const go = operation({
  id: "go",
  name: "go",
  method: "POST",
  path: "/v1/own/go",
  right: "curate",
  summary: "Use the rows"
})
const effects = {
  go: serve(go, () =>
    Effect.flatMap(Rows, (rows) =>
      use({
        notes: tableRows(rows, notes),
        words: tableRows(rows, words),
        drawers: tableRows(rows, drawers)
      })
    )
  )
}
const own = feature({
  name: "own",
  groups: [{ id: "own", title: "Own", effects }],
  tables: [notes, words, drawers],
  of_all: ["own_words"],
  migrations
})
const olga = { id: "olga", tenant: "acme", roles: ["operator"] } as const
const [acme, other] = [Tenant.make("acme"), Tenant.make("other")]

type Query = Parameters<Open["notes"]["all"]>[0]
const note = { tenant: acme, id: "n-1", said: "ours" }

/** What fails with a defect, as its text. */
const defect = (effect: Effect.Effect<unknown, Feature.StoreError>) =>
  effect.pipe(
    Effect.map((value) => `it gave ${JSON.stringify(value)}`),
    Effect.catchDefect((error) => Effect.succeed(String(error)))
  )

const uses: ReadonlyArray<readonly [name: string, body: Use]> = [
  [
    "are asked for by tenant, and by no query without one",
    ({ notes: rows }) =>
      Effect.gen(function* () {
        yield* rows.add([note, { tenant: other, id: "n-1", said: "theirs" }])
        const without = [
          undefined,
          {},
          { where: {} },
          { where: { id: "n-1" } },
          { where: { tenant: undefined } },
          { where: { tenant: null } },
          { where: { tenant: ["in", ["acme", "other"]] } },
          { where: { tenant: ["not", null] } },
          { where: { id: "n-1" }, or: [{ tenant: acme }] }
        ] as ReadonlyArray<unknown> as ReadonlyArray<Query>
        for (const query of without) {
          const where = query?.where as never
          for (const effect of [
            rows.all(query),
            rows.list(query),
            rows.one(where),
            rows.take(query),
            rows.count(query),
            rows.counts(query, ["id"]),
            rows.set(query, { said: "gone" }),
            rows.remove(query)
          ]) {
            assert.match(yield* defect(effect), /TypeError: the table own_notes: .*tenant/)
          }
        }
        assert.deepStrictEqual(yield* rows.all({ where: { tenant: acme } }), [note])
        assert.strictEqual((yield* rows.one({ tenant: other, id: "n-1" }))?.said, "theirs")
        const moved = rows.set({ where: { tenant: acme } }, { tenant: other })
        assert.match(yield* defect(moved), /the table own_notes: .*tenant/)
        yield* rows.set({ where: { tenant: acme } }, { tenant: acme, said: "still ours" })
        const taken = rows.take({ where: { tenant: acme, id: "n-1" } })
        assert.match(yield* defect(taken), /the table own_notes: .*key/)
        assert.strictEqual(yield* rows.remove({ where: { tenant: acme } }), 1)
        assert.strictEqual(yield* rows.remove({ where: { tenant: other } }), 1)
      })
  ],
  [
    "are of values of their columns",
    ({ notes: rows, words: others }) =>
      Effect.gen(function* () {
        for (const [row, column] of [
          [{ ...note, id: 5 }, "id"],
          [{ ...note, id: undefined }, "id"],
          [{ tenant: acme, said: "x" }, "id"],
          [{ id: "n-1", said: "x" }, "tenant"],
          [{ ...note, tenant: null }, "tenant"],
          [{ ...note, said: 5 }, "said"],
          [{ ...note, size: 1.5 }, "size"],
          [{ ...note, colour: "red" }, "colour"],
          [{ ...note, toString: "red" }, "toString"]
        ] as const) {
          const said = yield* defect(rows.add([row as never]))
          assert.match(said, new RegExp(`TypeError: the table own_notes: .*column ${column}\\b`))
        }
        const word = { id: "w", is_on: true, kind: "new", about: { by: "olga" } } as const
        for (const [row, column] of [
          [{ ...word, is_on: "yes" }, "is_on"],
          [{ ...word, kind: "odd" }, "kind"],
          [{ ...word, about: {} }, "about"],
          [{ ...word, at: 3 }, "at"]
        ] as const) {
          const said = yield* defect(others.add([row as never]))
          assert.match(said, new RegExp(`TypeError: the table own_words: .*column ${column}\\b`))
        }
        const where = { tenant: acme }
        const set = rows.set({ where }, { said: undefined })
        assert.match(yield* defect(set), /the table own_notes: .*column said/)
        const unknown = rows.all({ where: { ...where, colour: "red" } as never })
        assert.match(yield* defect(unknown), /the table own_notes: .*column colour/)
        assert.strictEqual(yield* rows.count({ where }), 0)
        yield* rows.add([{ ...note, size: 3 }])
        yield* rows.set({ where }, { size: undefined })
        assert.deepStrictEqual(yield* rows.all({ where }), [note])
        yield* others.add([word])
        const all = others.all as (query?: object) => ReturnType<typeof others.all>
        for (const query of [undefined, {}]) {
          const found = yield* all(query)
          assert.deepStrictEqual(
            found.map(({ about }) => about),
            [{ by: "olga" }]
          )
        }
      })
  ],
  [
    "do not follow rows of other tenants",
    ({ drawers: rows }) =>
      Effect.gen(function* () {
        yield* rows.add([{ tenant: other, id: "d", said: "theirs" }])
        const over = rows.add([{ tenant: acme, id: "d", said: "ours" }], ["said"])
        assert.match(yield* defect(over), /the table own_drawers: .*tenant/)
        assert.strictEqual((yield* rows.one({ tenant: other }))?.said, "theirs")
      })
  ]
]

for (const [where, store] of [
  ["in memory", "ephemeral"],
  ["in a directory", { directory: join(data, "db") }]
] as const) {
  describe(`the rows of a feature ${where}`, { timeout: 60_000 }, () => {
    it.each(uses)("%s", async (_, body) => {
      use = body
      const clerk = AgentSpec.make({ name: "clerk", instructions: "Explain." })
      const troupe = await start({
        agents: [clerk],
        model: scripted([]),
        features: [own],
        store
      })
      await troupe
        .of(own)
        .go(olga)
        .finally(() => troupe.stop())
    })
  })
}

it("no feature can ask for rows of any tenant, nor leave the tenant out", () => {
  assert.notProperty(Feature, "anyTenant")
  const given = [
    // @ts-expect-error: it names no tenant.
    { where: {} },
    // @ts-expect-error: it names no tenant.
    { where: { id: "n-1" } },
    // @ts-expect-error: it may name none.
    { where: { tenant: undefined } },
    // @ts-expect-error: it names all that have one.
    { where: { tenant: ["not", null] } },
    { where: { tenant: acme, id: ["in", ["n-1"]] } }
  ] satisfies ReadonlyArray<Query>
  assert.lengthOf(given, 5)
})
