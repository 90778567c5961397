/** Drafts over HTTP: read, published and withdrawn by operators of their workspace, and by nobody else. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { DraftStore } from "../../services/spectral/platform/contracts/DraftStore.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { WorkspaceReader } from "../../services/spectral/platform/WorkspaceReader.ts"
import { Tenant } from "../../src/value/Ids.ts"
import type { DraftProposal } from "../../src/spectral/platform/contracts/Draft.ts"
import { FrameworkId, SystemId } from "../../src/spectral/platform/contracts/Fact.ts"
import { sample } from "../platform/Records.ts"
import { ask, credentials, layer as withoutRecords } from "./Service.ts"
import type { Who } from "./Service.ts"

const acme = Tenant.make("acme")

const service = Server.layer({ listen: { port: 0 }, credentials }).pipe(
  Layer.provideMerge(Runtime.layer({ agents: [], tools: [] })),
  Layer.provide(ScriptedModelGateway.layer(() => ScriptedModelGateway.text("hello"))),
  Layer.provideMerge(Spectral.layer),
  Layer.provide(Stores.ephemeral),
  Layer.orDie
)

const card: DraftProposal = {
  kind: "system_card",
  system_id: SystemId.make("support-bot"),
  title: "What it does badly",
  owner: "Care"
}
const rubric: DraftProposal = {
  kind: "rubric",
  framework_id: FrameworkId.make("support"),
  rubric_id: "tone",
  title: "A higher threshold",
  threshold: 0.7
}

/** draft-1 and draft-3 are of a card, draft-2 is of a rubric. */
const written = Effect.gen(function* () {
  yield* RecordImporter.use((importer) => importer.record(acme, sample))
  const store = yield* DraftStore
  for (const [call, proposal] of [card, rubric, card].entries()) {
    yield* store.write(acme, proposal, { run: "run-1", call: `0/${call}.0`, principal: "ann" })
  }
})

const reason = "Agreed on Monday."
const publication = { target_id: "support-bot", based_on: 1, reason }
const post = (path: string, json: unknown, as: Who = "olga") => ask(path, { as, json })
const publish = (id: string, json: unknown = publication, as?: Who) =>
  post(`/v1/drafts/${id}/publish`, json, as)
const withdraw = (id: string, json: unknown = { reason }, as?: Who) =>
  post(`/v1/drafts/${id}/withdraw`, json, as)

const idsAt = (query: string) =>
  Effect.map(ask(`/v1/drafts${query}`, { as: "olga" }), ({ json }) => [
    (json.items as ReadonlyArray<{ readonly draft_id: string }>).map(({ draft_id }) => draft_id),
    json.next_after
  ])

describe("drafts over HTTP", () => {
  it.live("are listed newest first, by kind and status, with the cursor of the next page", () =>
    Effect.gen(function* () {
      yield* written
      assert.deepEqual(yield* idsAt(""), [["draft-3", "draft-2", "draft-1"], undefined])
      assert.deepEqual(yield* idsAt("?limit=2"), [["draft-3", "draft-2"], "draft-2"])
      assert.deepEqual(yield* idsAt("?limit=2&after=draft-2"), [["draft-1"], undefined])
      assert.deepEqual(yield* idsAt("?kind=rubric"), [["draft-2"], undefined])
      assert.strictEqual((yield* withdraw("draft-3")).status, 200)
      assert.deepEqual(yield* idsAt("?status=withdrawn"), [["draft-3"], undefined])
      assert.deepEqual(yield* idsAt("?kind=system_card&status=draft"), [["draft-1"], undefined])
      // More than are read at once.
      const store = yield* DraftStore
      for (let call = 3; call < 20; call++) {
        yield* store.write(acme, card, { run: "run-1", call: `0/${call}.0`, principal: "ann" })
      }
      const [ids, next] = yield* idsAt("?limit=19")
      assert.deepEqual(
        ids,
        Array.from({ length: 19 }, (_, i) => `draft-${20 - i}`)
      )
      assert.strictEqual(next, "draft-2")
      const one = yield* ask("/v1/drafts/draft-2", { as: "olga" })
      assert.deepEqual<unknown>(one.json, yield* store.draft(acme, "draft-2"))
    }).pipe(Effect.provide(service))
  )

  it.live("SA-46 one is published once, by who asks, and only as it was read", () =>
    Effect.gen(function* () {
      yield* written
      for (const other of [
        { ...publication, target_id: "tone" },
        { ...publication, based_on: 2 }
      ]) {
        const { json, status } = yield* publish("draft-1", other)
        assert.strictEqual(status, 409)
        assert.include(json.type, "change-refused")
      }
      const reader = yield* WorkspaceReader
      const before = yield* reader.systemCard(acme, "support-bot")
      assert.strictEqual(before.owner, "Support")
      const done = yield* publish("draft-1")
      assert.strictEqual(done.status, 200)
      assert.deepInclude(done.json.state, { status: "published", revision: 2 })
      assert.deepInclude(done.json.state.closed, { by: "olga", reason })
      assert.strictEqual((yield* reader.systemCard(acme, "support-bot")).owner, "Care")
      assert.strictEqual((yield* publish("draft-1")).status, 409)
      assert.strictEqual((yield* withdraw("draft-1")).status, 409)
      // The card has changed since the third was written.
      assert.strictEqual((yield* publish("draft-3")).status, 409)
      const gone = yield* withdraw("draft-3", { reason: "Outdated." })
      assert.deepInclude(gone.json.state.closed, { by: "olga", reason: "Outdated." })
      assert.strictEqual((yield* publish("draft-3")).status, 409)
    }).pipe(Effect.provide(service))
  )

  it.live("are for operators alone, and another tenant's are not told from none", () =>
    Effect.gen(function* () {
      yield* written
      const ways = (as: Who) => [
        ask("/v1/drafts", { as }),
        ask("/v1/drafts/draft-1", { as }),
        publish("draft-1", publication, as),
        withdraw("draft-1", { reason }, as)
      ]
      for (const as of ["vera", "ada", "carl"] as const) {
        for (const way of ways(as)) assert.strictEqual((yield* way).status, 403, as)
      }
      const [list, ...rest] = ways("stranger")
      assert.deepEqual((yield* list!).json, { items: [] })
      for (const way of rest) {
        const { json, status } = yield* way
        assert.strictEqual(status, 404)
        assert.include(json.detail, 'here is no draft "draft-1"')
      }
      assert.deepEqual(yield* idsAt("?status=draft"), [
        ["draft-3", "draft-2", "draft-1"],
        undefined
      ])
      assert.strictEqual((yield* ask("/v1/drafts")).status, 401)
    }).pipe(Effect.provide(service))
  )

  it.live("what is beyond its bounds or of another form is 400, and changes nothing", () =>
    Effect.gen(function* () {
      yield* written
      for (const path of [
        "/v1/drafts?limit=501",
        "/v1/drafts?kind=scan",
        "/v1/drafts?status=open",
        "/v1/drafts?after=3",
        "/v1/drafts?tenant=other",
        "/v1/drafts/draft-0"
      ]) {
        assert.strictEqual((yield* ask(path, { as: "olga" })).status, 400, path)
      }
      for (const wrong of [
        {},
        { ...publication, reason: " " },
        { ...publication, by: "eve" },
        { ...publication, based_on: 0 },
        { ...publication, reason: "x".repeat(1_001) }
      ]) {
        assert.strictEqual((yield* publish("draft-1", wrong)).status, 400, JSON.stringify(wrong))
      }
      for (const wrong of [{}, { reason: "" }, { reason, by: "eve" }]) {
        assert.strictEqual((yield* withdraw("draft-1", wrong)).status, 400)
      }
      const [waiting] = yield* idsAt("?status=draft")
      assert.lengthOf(waiting as ReadonlyArray<string>, 3)
    }).pipe(Effect.provide(service))
  )

  it.live("a service without records answers 404 and says what to compose", () =>
    Effect.gen(function* () {
      for (const path of ["/v1/drafts", "/v1/drafts/draft-1"]) {
        const { json, status } = yield* ask(path, { as: "olga" })
        assert.strictEqual(status, 404, path)
        assert.include(json.type, "no-such-route")
      }
    }).pipe(Effect.provide(withoutRecords))
  )
})
