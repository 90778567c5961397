import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { ask, layer } from "./Service.ts"

it.live("a service that was composed without an intake and MCP servers says what it lacks", () =>
  Effect.gen(function* () {
    const told = yield* ask("/v1/events", {
      as: "pia",
      body: JSON.stringify({
        specversion: "1.0",
        id: "e-1",
        source: "/platform",
        type: "order.paid",
        time: "2026-01-01T00:00:00Z",
        data: {}
      }),
      headers: { "content-type": "application/cloudevents+json" }
    })
    assert.strictEqual(told.status, 422)
    assert.deepInclude(told.json, { type: "urn:troupe:problem:event-type-unknown", available: [] })
    const servers = yield* ask("/v1/mcp-servers", { as: "olga" })
    assert.deepStrictEqual(servers.json, { items: [] })
    const json = { server: "files", tool: "read", hash: "abc" }
    const accepted = yield* ask("/v1/mcp-servers/accept", { as: "olga", json })
    assert.strictEqual(accepted.status, 404)
    assert.strictEqual(accepted.json.type, "urn:troupe:problem:mcp-tool-not-found")
  }).pipe(Effect.provide(layer))
)
