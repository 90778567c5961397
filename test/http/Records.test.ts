/** The platform's published records over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { failure, sample, some } from "../platform/Records.ts"
import { migratedLayer } from "../sql/Engines.ts"
import type { Who } from "./Service.ts"
import { ask, credentials, layer as withoutRecords } from "./Service.ts"

const acme = Tenant.make("acme")
const spectral = AgentSpec.make({ name: AgentName.make("spectral"), instructions: "Help." })

const serverOf = (agents: ReadonlyArray<AgentSpec>) =>
  Server.layer({ listen: { port: 0 }, credentials }).pipe(
    Layer.provideMerge(Runtime.layer({ agents, tools: [] })),
    Layer.provide(ScriptedModelGateway.layer(() => ScriptedModelGateway.text("hello")))
  )

const service = serverOf([spectral]).pipe(
  Layer.provideMerge(Spectral.layer),
  Layer.provide(Stores.ephemeral),
  Layer.orDie
)

const filled = RecordImporter.use((importer) => importer.record(acme, sample))

const reads: ReadonlyArray<string> = [
  "/v1/scans",
  "/v1/scans/scan-3",
  "/v1/failure-clusters",
  "/v1/failure-clusters/no-source",
  "/v1/failure-clusters/no-source/failures",
  "/v1/changesets",
  "/v1/changesets/change-1"
]

const idsIn = (items: ReadonlyArray<{ readonly cluster: { readonly cluster_id: string } }>) =>
  items.map(({ cluster }) => cluster.cluster_id)

describe("records over HTTP", () => {
  it.live("SA-50 are readable where every agent is down, from what was recorded before", () => {
    const stores = Spectral.layer.pipe(
      Layer.provideMerge(ActorMemories.layer(GatewayAgentMemory.layer)),
      Layer.provideMerge(SqlStores.layer),
      Layer.provideMerge(migratedLayer)
    )
    // The runtime with its actors ends with its server; the stores stay.
    const serving = (agents: ReadonlyArray<AgentSpec>) => Layer.fresh(serverOf(agents))
    const send = ask("/v1/messages", { as: "olga", json: { agent: "spectral", text: "hello" } })
    return Effect.gen(function* () {
      const before = yield* Effect.gen(function* () {
        yield* filled
        assert.strictEqual((yield* send).status, 202)
        return yield* Effect.forEach(reads, (path) => ask(path, { as: "vera" }))
      }).pipe(Effect.provide(serving([spectral])))
      yield* Effect.gen(function* () {
        assert.strictEqual((yield* send).status, 404)
        for (const [i, path] of reads.entries()) {
          const { status, text } = yield* ask(path, { as: "vera" })
          assert.strictEqual(status, 200, path)
          assert.strictEqual(text, before[i]!.text)
        }
      }).pipe(Effect.provide(serving([])))
    }).pipe(Effect.provide(Layer.orDie(stores)))
  })

  it.live("are listed by pages and filters, each with the cursor of the next", () =>
    Effect.gen(function* () {
      yield* filled
      const first = yield* ask("/v1/failure-clusters?limit=3", { as: "vera" })
      assert.deepEqual(idsIn(first.json.items), ["wrong-deadline", "old-price", "no-source"])
      const after = first.json.next_after as string
      const rest = yield* ask(`/v1/failure-clusters?limit=3&after=${after}`, { as: "vera" })
      assert.deepEqual(idsIn(rest.json.items), ["rude"])
      assert.notProperty(rest.json, "next_after")
      const high = yield* ask("/v1/failure-clusters?severity=high&status=new", { as: "vera" })
      assert.deepEqual(idsIn(high.json.items), ["old-price", "no-source"])
      const failed = yield* ask("/v1/scans?status=failed", { as: "vera" })
      assert.lengthOf(failed.json.items, 1)
      const [scan] = failed.json.items
      assert.strictEqual(scan.scan.scan_id, "scan-2")
      const one = yield* ask("/v1/changesets?limit=1&status=proposed", { as: "vera" })
      assert.strictEqual(one.json.next_after, "change-2")
      const failures = Array.from({ length: 501 }, (_, i) => failure(`f-${i}`, "rude", i % 7))
      yield* RecordImporter.use((importer) => importer.record(acme, some({ failures })))
      const path = "/v1/failure-clusters/rude/failures?limit=500"
      const page = yield* ask(path, { as: "vera" })
      assert.lengthOf(page.json.items, 500)
      const last = yield* ask(`${path}&after=${page.json.next_after}`, { as: "vera" })
      assert.lengthOf(last.json.items, 2)
    }).pipe(Effect.provide(service))
  )

  it.live("another tenant reads nothing, in the words of records that are not there", () =>
    Effect.gen(function* () {
      const absent = yield* Effect.forEach(reads, (path) => ask(path, { as: "stranger" }))
      yield* filled
      for (const [i, path] of reads.entries()) {
        const { json, status } = yield* ask(path, { as: "stranger" })
        assert.strictEqual(status, absent[i]!.status, path)
        const { correlation_id, ...said } = json as Record<string, unknown>
        const { correlation_id: before, ...expected } = absent[i]!.json as Record<string, unknown>
        assert.deepEqual(said, expected, `${correlation_id} ${before}`)
        if (path.split("/").length > 3) assert.strictEqual(status, 404, path)
        else assert.deepEqual(json, { items: [] })
      }
      const foreign = yield* ask("/v1/changesets/change-1/review", {
        as: "stranger",
        json: { decision: "approved" }
      })
      assert.strictEqual(foreign.status, 404)
      assert.strictEqual(
        (yield* ask("/v1/changesets/change-1", { as: "vera" })).json.state.status,
        "proposed"
      )
    }).pipe(Effect.provide(service))
  )

  it.live("a parameter beyond its bounds or of another type is 400", () =>
    Effect.gen(function* () {
      yield* filled
      for (const path of [
        "/v1/scans?limit=0",
        "/v1/scans?limit=501",
        "/v1/scans?status=broken",
        "/v1/scans?tenant=other",
        "/v1/scans?after=Scan%201",
        "/v1/scans/Scan-1",
        `/v1/scans/${"a".repeat(65)}`,
        "/v1/failure-clusters?severity=worst",
        "/v1/failure-clusters/rude/failures?after=",
        "/v1/changesets?status=open"
      ]) {
        assert.strictEqual((yield* ask(path, { as: "vera" })).status, 400, path)
      }
      assert.strictEqual((yield* ask("/v1/scans")).status, 401)
      assert.strictEqual((yield* ask("/v1/scans", { as: "carl" })).status, 403)
    }).pipe(Effect.provide(service))
  )

  it.live(
    "SA-27 a change set is reviewed once, by those who may, and no approval knows of it",
    () =>
      Effect.gen(function* () {
        yield* filled
        const review = (as: Who, json: unknown) =>
          ask("/v1/changesets/change-1/review", { as, json })
        for (const as of ["vera", "carl", "nemo"] as const) {
          assert.strictEqual((yield* review(as, { decision: "approved" })).status, 403, as)
        }
        for (const wrong of [
          {},
          { decision: "applied" },
          { decision: "approved", by: "eve" },
          { decision: "approved", note: "x".repeat(2_001) }
        ]) {
          assert.strictEqual((yield* review("ada", wrong)).status, 400, JSON.stringify(wrong))
        }
        const done = yield* review("ada", { decision: "approved", note: "Good." })
        assert.strictEqual(done.status, 200)
        assert.strictEqual(done.json.state.status, "approved")
        assert.deepInclude(done.json.state.reviewed, { by: "ada", note: "Good." })
        const late = yield* review("olga", { decision: "rejected" })
        assert.strictEqual(late.status, 409)
        assert.include(late.json.type, "change-refused")
        assert.deepEqual((yield* ask("/v1/approvals", { as: "ada" })).json.items, [])
      }).pipe(Effect.provide(service))
  )

  it.live("a service without records answers 404 and says what to compose", () =>
    Effect.gen(function* () {
      for (const path of reads) {
        const { json, status } = yield* ask(path, { as: "vera" })
        assert.strictEqual(status, 404, path)
        assert.include(json.type, "no-such-route")
      }
    }).pipe(Effect.provide(withoutRecords))
  )
})
