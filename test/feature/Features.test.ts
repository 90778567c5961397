/** Features of a service: what it has with one, and does not have without. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { feature, operation, serve, uuid as uuidOf } from "troupe/feature"
import { afterAll, assert, describe, it } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import type { AnyFeature } from "../../layers/compose/options/Feature.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import * as Events from "../platform/Events.ts"
import { either } from "../Long.ts"

const data = mkdtempSync(join(tmpdir(), "troupe-features-"))
afterAll(() => rmSync(data, { recursive: true, force: true }))

const spectral = Spectral.feature()
const uuid = uuidOf(Schema.String)
const olga = { id: "olga", tenant: "acme", roles: ["operator"] } as const
const publisher = { id: "platform", tenant: "acme", roles: ["publisher"] } as const
const token = "a-token-for-olga-of-acme"
const options = {
  agents: [agent({ name: "clerk", instructions: "Explain." })],
  model: scripted(() => text("I looked at it.")),
  http: { tokens: [{ token, principal: olga }] }
} satisfies Options

const verdict = {
  specversion: "1.0",
  id: "e-1",
  source: "/platform",
  type: "verdict.issued",
  time: new Date().toISOString(),
  data: Events.verdictIssued
} as const

/** Starts, uses and stops a service. */
const served = async (
  given: Partial<Options>,
  use: (troupe: Awaited<ReturnType<typeof start>>) => Promise<void>
) => {
  const troupe = await start({ ...options, ...given })
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const asked = (troupe: Awaited<ReturnType<typeof start>>, path: string) =>
  troupe.handler(
    new Request(`http://localhost${path}`, { headers: { authorization: `Bearer ${token}` } })
  )

const failureOf = async (given: Partial<Options>): Promise<unknown> =>
  start({ ...options, ...given }).then(
    async (troupe) => troupe.stop(),
    (error: unknown) => error
  )

describe("a feature", () => {
  for (const [name, store] of (
    [
      ["in memory", "ephemeral"],
      ["in a directory", { directory: join(data, "db") }]
    ] as const
  ).slice(0, either(1, 2))) {
    it(`brings its operations over HTTP and by methods, ${name}`, () =>
      served({ features: [spectral], store }, async (troupe) => {
        assert.deepStrictEqual(await troupe.of(spectral).scans({ limit: 5 }, olga), [])
        const response = await asked(troupe, "/v1/scans")
        assert.deepStrictEqual([response.status, await response.json()], [200, { items: [] }])
        const missing = await troupe
          .of(spectral)
          .scan("s-1", olga)
          .catch((error) => error)
        assert.deepInclude(missing as object, { _tag: "RecordNotFound", id: "s-1" })
        const refused = await troupe
          .of(spectral)
          .drafts({}, publisher)
          .catch((error) => error)
        assert.deepInclude(refused as object, { _tag: "NotEntitled" })
        assert.strictEqual((await asked(troupe, "/v1/scans/s-1")).status, 404)
      }))
  }

  it("is not there without being given: no route, no method, no event and no table", async () => {
    const store = { directory: join(data, "plain") }
    await served({ store }, async (troupe) => {
      const response = await asked(troupe, "/v1/scans")
      assert.strictEqual(response.status, 404)
      assert.include(await response.text(), "no-such-route")
      assert.throws(() => troupe.of(spectral), /the start was not given the feature "spectral"/)
      const error = await troupe.publish(verdict, publisher).catch((thrown) => thrown)
      assert.deepInclude(error as object, { _tag: "EventTypeUnknown" })
    })
    const { PGlite } = await import("@electric-sql/pglite")
    const database = await PGlite.create(join(store.directory, "pgdata"))
    const { rows } = await database.query(
      "SELECT relname FROM pg_class WHERE relnamespace = 'troupe'::regnamespace AND relname ~ 'platform|world|spectral|semstreams|triples|loop|flow|components'"
    )
    const { rows: own } = await database.query<{ readonly name: string }>(
      "SELECT relname AS name FROM pg_class WHERE relnamespace = 'troupe'::regnamespace AND relkind IN ('r', 'v')"
    )
    await database.close()
    assert.deepStrictEqual(rows, [])
    assert.isAbove(own.length, 30)
    for (const { name } of own) {
      const table = { name, what: "own", key: ["id"], columns: { tenant: uuid, id: uuid } }
      const taken = feature({ name: "taken", tables: [table], migrations: { "0001_own": [] } })
      assert.deepInclude((await failureOf({ features: [taken] })) as object, {
        field: "features.0.tables.0.name",
        owner: 'the feature "taken"',
        reason: `every store has a table or a view ${name} of its own`
      })
    }
  })

  it("says what its events cause, and the application's own handlers go before", () =>
    served({ features: [spectral], events: { agent: "clerk" } }, async (troupe) => {
      const { conversation } = await troupe.publish(verdict, publisher)
      assert.strictEqual(conversation, "event~scan:scan-7")
      await served(
        {
          features: [spectral],
          events: {
            agent: "clerk",
            handlers: {
              "verdict.issued": () => ({ _tag: "Tell", conversation: "mine", text: "A verdict." })
            }
          }
        },
        async (own) => {
          assert.strictEqual((await own.publish(verdict, publisher)).conversation, "mine")
        }
      )
    }))
})

describe("what is wrong with features", () => {
  const other: AnyFeature = { ...spectral, name: "other" }
  const bare = feature({ name: "bare" })
  const get = operation({
    id: "get",
    name: "note",
    method: "GET",
    path: "/v1/notes/:id",
    params: Schema.Struct({ id: Schema.String }),
    success: Schema.String,
    right: "inspect",
    summary: "A note"
  })
  const note = serve(get, ({ id }) => Effect.succeed(id))
  const withEffects = (effects: unknown) => ({
    ...bare,
    groups: [{ id: "notes", title: "Notes", effects }]
  })
  const withOperation = (members: object) =>
    withEffects({ note: { ...note, operation: { ...get, ...members } } })
  const byKey = { path: "/v1/notes/:key", params: Schema.Struct({ key: Schema.String }) }
  const renamed = {
    id: "other",
    title: "Others",
    effects: { note: { ...note, operation: { ...get, ...byKey } } }
  }
  const notes = { name: "notes", what: "notes", key: ["id"], columns: { tenant: uuid, id: uuid } }
  const migrations = { "0001_notes": ["CREATE TABLE troupe.notes (tenant text, id text)"] }
  const withTable = (members: object) => ({
    ...bare,
    tables: [{ ...notes, ...members }],
    migrations
  })
  const paying = { ...bare, events: { handlers: { paid: () => undefined }, topics: [] } }
  const at = "groups.0.effects.note.operation"
  const wrong: Array<readonly [what: string, features: unknown, field: string, said: RegExp]> = [
    ["is none", [1], "0", /Expected a feature/],
    ["lacks all but its name", [{ name: "x" }], "0.groups", /"x": .*groups is missing/],
    [
      "has a name that is none",
      [feature({ name: "Bare Feature" })],
      "0.name",
      /lower-case letters/
    ],
    ["is given twice", [bare, bare], "1.name", /has the feature bare, which there is already/],
    ["has an unknown member", [{ ...bare, table: [] }], "0.table", /"bare": .*tables/],
    ["has the operations of another", [spectral, other], "1.groups.0.id", /"other": .* the group/],
    [
      "has the route of a service",
      [withOperation({ path: "/v1/runs/:id" })],
      "0.groups.0.effects.note",
      /the route GET/
    ],
    [
      "has the route of another",
      [withEffects({ note }), { ...bare, name: "other", groups: [renamed] }],
      "1.groups.0.effects.note",
      /the route GET/
    ],
    [
      "lacks an effect",
      [withEffects({ note: undefined })],
      "0.groups.0.effects.note",
      /as `serve` makes/
    ],
    ["has a group without effects", [withEffects(undefined)], "0.groups.0.effects", /"bare": /],
    [
      "needs a right that is none",
      [withOperation({ right: "inspcet" })],
      `0.${at}.right`,
      /Expected a right/
    ],
    [
      "gives a right to a role that is none",
      [withOperation({ right: { boss: "all" } })],
      `0.${at}.right`,
      /there is no role "boss"/
    ],
    ["has a method that is none", [withOperation({ method: "get" })], `0.${at}.method`, /GET/],
    [
      "has a path of no version",
      [withOperation({ path: "/notes/:id" })],
      `0.${at}.path`,
      /Expected a path/
    ],
    [
      "has a path without its params",
      [withOperation({ path: "/v1/notes" })],
      `0.${at}.params`,
      /members of its path/
    ],
    [
      "has a payload of a read",
      [withOperation({ payload: Schema.Struct({}) })],
      `0.${at}.payload`,
      /a GET has none/
    ],
    ["has a member twice", [withOperation({ query: get.params })], `0.${at}.query`, /a member id/],
    [
      "has an input that is no schema",
      [withOperation({ query: {} })],
      `0.${at}.query`,
      /Expected a schema/
    ],
    [
      "has an argument that is none",
      [withOperation({ args: ["ix"] })],
      `0.${at}.args`,
      /no member ix/
    ],
    ["has a status that is none", [withOperation({ status: 202 })], `0.${at}.status`, /201/],
    [
      "has a problem that is none",
      [withOperation({ problems: [418] })],
      `0.${at}.problems.0`,
      /404/
    ],
    [
      "calls an effect otherwise",
      [withEffects({ noted: note })],
      "0.groups.0.effects.noted.operation.name",
      /another name/
    ],
    ["has a tool that is none", [{ ...bare, tools: [1] }], "0.tools.0", /Expected what `tool`/],
    [
      "has a delivery that is none",
      [{ ...bare, deliveries: [1] }],
      "0.deliveries.0",
      /an Effect of handl/
    ],
    [
      "has a handler that is none",
      [{ ...bare, events: { handlers: { paid: "x" }, topics: [] } }],
      "0.events.handlers",
      /functions by types/
    ],
    [
      "has topics that are none",
      [{ ...bare, events: { handlers: {}, topics: [1] } }],
      "0.events.topics.0",
      /is a number: write a text/
    ],
    [
      "handles the events of another",
      [paying, { ...paying, name: "other" }],
      "1.events.handlers",
      /"other": .* has the handler of events paid/
    ],
    [
      "has a table with a wrong name",
      [withTable({ name: "no tes" })],
      "0.tables.0.name",
      /a name such as notes/
    ],
    ["has a table without a key", [withTable({ key: [] })], "0.tables.0.key.0", /"bare": /],
    [
      "has a column that is none",
      [withTable({ columns: { tenant: "text" } })],
      "0.tables.0.columns.tenant",
      /Expected a column/
    ],
    [
      "has a table without tenants",
      [withTable({ columns: { id: uuid } })],
      "0.tables.0.columns",
      /nothing keeps tenants apart/
    ],
    ["has a key without a column", [withTable({ key: ["ix"] })], "0.tables.0.key", /no column ix/],
    [
      "marks a column that is none",
      [withTable({ erased: { marked: { who: "text" } } })],
      "0.tables.0.erased.marked",
      /no column who/
    ],
    [
      "removes by a column that is none",
      [withTable({ erased: { removed: ["who"] } })],
      "0.tables.0.erased.removed",
      /no column who/
    ],
    [
      "groups by a column that is none",
      [withTable({ group: ["who"] })],
      "0.tables.0.group",
      /no column who/
    ],
    [
      "has a table of every store",
      [withTable({ name: "runs" })],
      "0.tables.0.name",
      /every store has a table or a view runs/
    ],
    [
      "has a list of migrations",
      [withTable({ name: "migrations_bare" })],
      "0.tables.0.name",
      /migrations_bare of its own/
    ],
    [
      "has a member of an operation that is nearly one",
      [withOperation({ rights: "inspect" })],
      `0.${at}.rights`,
      /"bare": .*there is no such member. Did you mean "right"/
    ],
    [
      "has a member of a table that is nearly one",
      [withTable({ keys: ["id"] })],
      "0.tables.0.keys",
      /no such member. Did you mean "key"/
    ],
    [
      "has a member of a group that is nearly one",
      [{ ...bare, groups: [{ id: "notes", title: "Notes", effects: {}, effect: {} }] }],
      "0.groups.0.effect",
      /no such member. Did you mean "effects"/
    ],
    [
      "misspells its name",
      [{ ...bare, name: undefined, nam: "bare" }],
      "0.nam",
      /^a feature without a name: features\[0\]\.nam: there is no such member. Did you mean "name"/
    ],
    [
      "gives a right to nobody",
      [withOperation({ right: {} })],
      `0.${at}.right`,
      /"bare": .* names no role/
    ],
    [
      "marks a column that is no text",
      [withTable({ erased: { removed: ["id"] } })],
      "0.tables.0.erased",
      /id is no text/
    ],
    [
      "has a mark that is none",
      [withTable({ erased: { marked: { id: ["by"] } } })],
      "0.tables.0.erased.marked.id",
      /a Set of members/
    ],
    [
      "has an owner",
      [withTable({ erased: { owner: ["id", "by"] } })],
      "0.tables.0.erased.owner",
      /no such member/
    ],
    [
      "has a table of all with tenants",
      [{ ...withTable({}), of_all: ["notes"] }],
      "0.tables.0.columns",
      /has a column tenant/
    ],
    [
      "has no table of all",
      [{ ...withTable({}), of_all: ["other"] }],
      "0.of_all",
      /no table other/
    ],
    [
      "has tables of one name",
      [withTable({}), { ...withTable({}), name: "other" }],
      "1.tables.0.name",
      /the table notes/
    ],
    [
      "has a table that nothing makes",
      [{ ...withTable({}), migrations: {} }],
      "0.migrations",
      /none makes its tables/
    ],
    [
      "makes a table that it does not declare",
      [{ ...bare, migrations }],
      "0.tables",
      /none is declared/
    ],
    [
      "has a migration without a number",
      [{ ...withTable({}), migrations: { notes: [] } }],
      "0.migrations.notes",
      /0001_notes/
    ],
    [
      "has a statement that is none",
      [{ ...withTable({}), migrations: { "0001_a": [1] } }],
      "0.migrations.0001_a.0",
      /is a number: write a text/
    ],
    ["has a Layer that is none", [{ ...bare, layer: Effect.void }], "0.layer", /Expected a Layer/],
    ["runs what is none", [{ ...bare, over: Effect.void }], "0.over", /Expected a Layer/]
  ]
  for (const name of "then catch finally constructor toJSON toString valueOf prototype hasOwnProperty __proto__".split(
    " "
  )) {
    const said = new RegExp(`"bare": .*the operation GET /v1/notes/:id has the name "${name}"`)
    const named = { ...note, operation: { ...get, name } }
    wrong.push(
      [
        `calls a method ${name}`,
        [withEffects({ [name]: named })],
        `0.groups.0.effects.${name}.operation.name`,
        said
      ],
      [`calls an operation ${name}`, [withOperation({ id: name })], `0.${at}.id`, said],
      [
        `calls a group ${name}`,
        [{ ...bare, groups: [{ id: name, title: "Notes", effects: { note } }] }],
        "0.groups.0.id",
        new RegExp(`"bare": .*a group has the name "${name}"`)
      ]
    )
  }
  for (const [what, features, field, said] of wrong) {
    it(`is refused at the start: one that ${what}`, async () => {
      const error = await failureOf({ features } as Partial<Options>)
      assert.deepInclude(error as object, { _tag: "InvalidInput", field: `features.${field}` })
      assert.match((error as Error).message, said)
    })
  }

  it("is refused at the start: events that nothing handles, and a handler that is none", async () => {
    const none = await failureOf({ events: { agent: "clerk" } })
    assert.deepInclude(none as object, { _tag: "InvalidInput", field: "events.handlers" })
    const text = await failureOf({
      events: { agent: "clerk", handlers: { a: "b" } }
    } as unknown as Partial<Options>)
    assert.deepInclude(text as object, { _tag: "InvalidInput", field: "events.handlers" })
  })

  it("is refused at the event: an effect that is none", () =>
    served(
      {
        events: {
          agent: "clerk",
          handlers: {
            "verdict.issued": () => ({ _tag: "Tell", conversation: "", text: "x" }),
            "feedback.received": () => ({ _tag: "Ask" }) as never,
            "scan.failed": (() => Promise.reject(new Error("no such order"))) as never
          }
        }
      },
      async (troupe) => {
        for (const [type, field] of [
          ["verdict.issued", "events.handlers.verdict.issued.conversation"],
          ["feedback.received", "events.handlers.feedback.received"],
          // Its rejection does not end the process either.
          ["scan.failed", "events.handlers.scan.failed"]
        ] as const) {
          const error = await troupe
            .publish({ ...verdict, type }, publisher)
            .catch((thrown) => thrown)
          assert.deepInclude(error as object, { _tag: "InvalidInput", field })
        }
      }
    ))
})
