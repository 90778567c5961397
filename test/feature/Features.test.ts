/** Features of a service: what it has with one, and does not have without. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import type { AnyFeature } from "../../layers/compose/options/Feature.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { AnyServed } from "../../layers/service/Served.ts"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import * as Events from "../platform/Events.ts"

const data = mkdtempSync(join(tmpdir(), "troupe-features-"))
afterAll(() => rmSync(data, { recursive: true, force: true }))

const spectral = Spectral.feature()
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
  for (const [name, store] of [
    ["in memory", "ephemeral"],
    ["in a directory", { directory: join(data, "db") }]
  ] as const) {
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
    await database.close()
    assert.deepStrictEqual(rows, [])
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
  const bare = { ...spectral, groups: [], tools: [], deliveries: [] }
  const withGroup = (group: object) => ({ ...bare, groups: [{ id: "g", title: "G", ...group }] })
  const moved = (effect: AnyServed, path: `/v1/${string}`) => ({
    ...effect,
    operation: { ...effect.operation, path }
  })
  const { scans } = Object.assign({}, ...spectral.groups.map(({ effects }) => effects))
  const misnamed = withGroup({
    effects: { scans: { ...scans, operation: { ...scans.operation, right: "scna" } } }
  })
  const again = { id: "g", title: "G", effects: { scans: moved(scans, "/v1/other-scans") } }
  const twice = { ...bare, groups: [...spectral.groups, again] }
  const paid = () => ({ _tag: "Tell", conversation: "c", text: "Paid." }) as const
  const paying = { ...bare, events: { handlers: { paid }, topics: [] } }
  const wrong: ReadonlyArray<readonly [what: string, features: unknown, said: RegExp]> = [
    ["is given twice", [spectral, spectral], /the feature spectral, which there is already/],
    ["has the operations of another", [spectral, other], /"other" has the group records/],
    ["needs a right that is none", [misnamed], /there is no right "scna"/],
    ["has two methods of one name", [twice], /"spectral" has the method spectral.scans/],
    ["lacks an effect", [withGroup({ effects: { get: undefined } })], /Expected the effect of an/],
    ["has a group without effects", [withGroup({})], /Missing key|Expected/],
    ["has a tool that is none", [{ ...bare, tools: [1] }], /Expected/],
    ["has a delivery that is none", [{ ...bare, deliveries: [1] }], /Expected an Effect of handl/],
    [
      "has a handler that is none",
      [{ ...bare, events: { handlers: { paid: "x" }, topics: [] } }],
      /Expected/
    ],
    [
      "handles the events of another",
      [paying, { ...paying, name: "other" }],
      /"other" has the handler of events paid/
    ],
    ["is none", [{ name: "x" }], /Expected a feature/],
    ["has a name that is none", [{ ...spectral, name: "Spectral Agent" }], /Expected a feature/]
  ]
  for (const [what, features, said] of wrong) {
    it(`is refused at the start: one that ${what}`, async () => {
      const error = await failureOf({ features } as Partial<Options>)
      assert.deepInclude(error as object, { _tag: "InvalidInput" })
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
