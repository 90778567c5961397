import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Layer, Logger, References } from "effect"
import { StoreError } from "../../services/StoreError.ts"
import { ask, layerOfSpectral as layer, layerReading } from "./Service.ts"

const routes = [
  "get /health",
  "get /ready",
  "get /v1/agents",
  "get /v1/approvals",
  "get /v1/approval-insights",
  "get /v1/approvals/{id}",
  "post /v1/approvals/{id}/decision",
  "get /v1/authorizations",
  "post /v1/authorizations",
  "post /v1/authorizations/{id}/revoke",
  "get /v1/conversations/{id}/client-calls",
  "post /v1/client-calls/{id}/result",
  "get /v1/conversations",
  "get /v1/conversations/{id}",
  "put /v1/conversations/{id}",
  "delete /v1/conversations/{id}",
  "get /v1/conversations/{id}/events",
  "post /v1/conversations/{id}/history",
  "post /v1/conversations/{id}/messages",
  "get /v1/budgets",
  "get /v1/costs",
  "post /v1/events",
  "post /v1/files",
  "get /v1/conversations/{id}/files/{digest}",
  "get /v1/conversations/{id}/bindings",
  "post /v1/conversations/{id}/bindings",
  "delete /v1/conversations/{id}/bindings",
  "get /v1/notices",
  "post /v1/notices/read",
  "get /v1/notices/preferences",
  "put /v1/notices/preferences",
  "get /v1/kill-switch",
  "put /v1/kill-switch",
  "get /v1/processes",
  "get /v1/checks",
  "get /v1/deliveries",
  "get /v1/settings",
  "get /v1/quarantine",
  "get /v1/quarantine/{id}/events",
  "post /v1/quarantine/{id}/release",
  "get /v1/dead-letters",
  "get /v1/dead-letters/{event_id}",
  "post /v1/dead-letters/{event_id}/discard",
  "post /v1/dead-letters/{event_id}/replay",
  "get /v1/bulk/dead-letters",
  "post /v1/bulk/dead-letters/discard",
  "post /v1/bulk/dead-letters/replay",
  "get /v1/bulk/runs",
  "post /v1/bulk/runs/cancel",
  "get /v1/bulk/unknown-calls",
  "post /v1/bulk/unknown-calls/settle",
  "post /v1/messages",
  "get /v1/runs",
  "get /v1/runs/{id}",
  "post /v1/runs/{id}/cancel",
  "get /v1/runs/{id}/comparison",
  "get /v1/runs/{id}/events",
  "post /v1/runs/{id}/fork",
  "post /v1/runs/{id}/settle",
  "get /v1/scans",
  "get /v1/scans/{scan_id}",
  "get /v1/failure-clusters",
  "get /v1/failure-clusters/{cluster_id}",
  "get /v1/failure-clusters/{cluster_id}/failures",
  "get /v1/changesets",
  "get /v1/changesets/{changeset_id}",
  "post /v1/changesets/{changeset_id}/review",
  "get /v1/drafts",
  "get /v1/drafts/{draft_id}",
  "post /v1/drafts/{draft_id}/publish",
  "post /v1/drafts/{draft_id}/withdraw",
  "get /v1/worlds",
  "get /v1/worlds/{world_id}",
  "get /v1/worlds/{world_id}/rules",
  "get /v1/worlds/{world_id}/rules/{rule_id}",
  "get /v1/worlds/{world_id}/candidates",
  "get /v1/erasures",
  "post /v1/erasures",
  "get /v1/tokens",
  "post /v1/tokens",
  "delete /v1/tokens/{id}",
  "get /v1/webhooks",
  "post /v1/webhooks",
  "get /v1/webhooks/{id}",
  "put /v1/webhooks/{id}",
  "delete /v1/webhooks/{id}",
  "post /v1/webhooks/{id}/rotate",
  "get /v1/webhooks/{id}/deliveries",
  "post /v1/webhooks/{id}/deliveries/{delivery}/resend",
  "post /v1/webhooks/{id}/resend",
  "get /v1/unhosted",
  "get /v1/runs/{id}/records",
  "get /v1/unknown-calls",
  "get /v1/memories",
  "post /v1/memories/{id}/undo",
  "post /v1/memories/erase",
  "put /v1/memories/texts",
  "get /v1/tools",
  "get /v1/policy",
  "post /v1/policy/trial",
  "get /v1/worker-tools",
  "get /v1/tool-times",
  "get /v1/mcp-servers",
  "post /v1/mcp-servers/accept"
]

interface Operation {
  readonly operationId: string
  readonly security?: ReadonlyArray<Record<string, unknown>>
  readonly responses: Record<string, { readonly content?: Record<string, unknown> }>
}

interface Spec {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: {
    readonly schemas: Record<string, unknown>
    readonly securitySchemes: Record<string, { readonly type: string; readonly scheme: string }>
  }
}

const operationsOf = (spec: Spec) =>
  Object.entries(spec.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation }))
  )

describe("the documents of the service", () => {
  it.live(
    "include an OpenAPI 3.1 document with every route, its security and its problems, whose references all resolve",
    () =>
      Effect.gen(function* () {
        const { json, status, text } = yield* ask("/openapi.json")
        assert.strictEqual(status, 200)
        const spec = json as Spec
        assert.match(spec.openapi, /^3\.1\.\d+$/)
        assert.isNotEmpty(spec.info.title)
        assert.isNotEmpty(spec.info.version)
        const operations = operationsOf(spec)
        assert.sameMembers(
          operations.map(({ method, path }) => `${method} ${path}`),
          routes
        )
        const schemes = Object.entries(spec.components.securitySchemes)
        assert.deepStrictEqual(
          schemes.map(([name, { scheme, type }]) => [name, type, scheme.toLowerCase()]),
          [["bearer", "http", "bearer"]]
        )
        assert.strictEqual(
          new Set(operations.map(({ operation }) => operation.operationId)).size,
          routes.length
        )
        for (const { operation, path } of operations) {
          if (!path.startsWith("/v1/")) continue
          assert.deepStrictEqual(operation.security, [{ bearer: [] }], path)
          for (const [status, response] of Object.entries(operation.responses)) {
            if (Number(status) < 400) continue
            assert.deepStrictEqual(
              Object.keys(response.content ?? {}),
              ["application/problem+json"],
              `${path} ${status}`
            )
          }
          assert.includeMembers(Object.keys(operation.responses), ["400", "401", "403"])
        }
        for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
          assert.property(spec.components.schemas, decodeURIComponent(name!))
        }
      }).pipe(Effect.provide(layer))
  )

  it.live("include a page that loads nothing from another host", () =>
    Effect.gen(function* () {
      const { headers, status, text } = yield* ask("/docs")
      assert.strictEqual(status, 200)
      assert.match(headers.get("content-type")!, /^text\/html/)
      assert.notMatch(text, /<(script|link)[^>]+(src|href)="https?:/)
    }).pipe(Effect.provide(layer))
  )

  it.live("include metrics, which need a token and count the requests", () =>
    Effect.gen(function* () {
      yield* ask("/v1/agents", { as: "vera" })
      yield* ask("/v1/agents")
      const { headers, status, text } = yield* ask("/metrics", { as: "vera" })
      assert.strictEqual(status, 200)
      assert.match(headers.get("content-type")!, /^text\/plain/)
      assert.match(text, /^troupe_http_requests_total\{[^}]*status="200"[^}]*\} \d+$/m)
      assert.match(text, /^troupe_http_requests_total\{[^}]*status="401"[^}]*\} \d+$/m)
    }).pipe(Effect.provide(layer))
  )
})

describe("the health of the service", () => {
  it.live("is good where the process runs and its stores answer", () =>
    Effect.gen(function* () {
      const health = yield* ask("/health")
      assert.deepStrictEqual([health.status, health.json], [200, { status: "up" }])
      const ready = yield* ask("/ready")
      assert.deepStrictEqual([ready.status, ready.json], [200, { status: "ready" }])
    }).pipe(Effect.provide(layer))
  )

  it.live("is not ready where a store does not answer, without the store's own message", () =>
    Effect.gen(function* () {
      const ready = yield* ask("/ready")
      assert.strictEqual(ready.status, 503)
      assert.strictEqual(ready.json.type, "urn:troupe:problem:store-unavailable")
      assert.notInclude(ready.text, "secret")
      assert.strictEqual((yield* ask("/health")).status, 200)
    }).pipe(
      Effect.provide(
        layerReading(() => new StoreError({ message: "no route to postgres://u:secret@host/db" }))
      )
    )
  )

  it.live("logs what a store said once, by the request's id and without its secrets", () => {
    const said: Array<string> = []
    const logger = Logger.make(({ fiber, message }) => {
      const annotations = fiber.getRef(References.CurrentLogAnnotations)
      said.push(`${String(message)} ${JSON.stringify(annotations)}`)
    })
    const away = layerReading(() => new StoreError({ message: "no postgres://u:hunter2@host/db" }))
    return Effect.gen(function* () {
      const read = ask("/v1/runs/00000000-0000-4000-8000-000000000001", { as: "vera" })
      const first = yield* read
      assert.deepStrictEqual([first.status, (yield* read).status], [503, 503])
      const lines = said.filter((each) => each.startsWith("a store failed a request: no postgres"))
      assert.lengthOf(lines, 1)
      assert.include(lines[0], first.headers.get("x-correlation-id")!)
      assert.notInclude(said.join(), "hunter2")
    }).pipe(Effect.provide(Layer.provideMerge(away, Logger.layer([logger]))))
  })

  it.live(
    "survives a defect, which is logged with its kind and place and without the secrets in its text",
    () => {
      const said: Array<string> = []
      const logger = Logger.make(({ cause, fiber, message }) => {
        const annotations = fiber.getRef(References.CurrentLogAnnotations)
        said.push(`${String(message)} ${JSON.stringify(annotations)} ${Cause.pretty(cause)}`)
      })
      const broken = new TypeError("no mail to jane.doe@example.com, password=hunter2secret")
      return Effect.gen(function* () {
        yield* ask("/v1/runs/00000000-0000-4000-8000-000000000001", { as: "vera" })
        const line = said.find((each) => each.startsWith("a request met a defect"))
        assert.include(line, "TypeError")
        assert.include(line, "no mail to [e-mail]")
        assert.notMatch(said.join(), /jane|hunter2/)
      }).pipe(
        Effect.provide(
          layerReading(() => Effect.die(broken)).pipe(Layer.provideMerge(Logger.layer([logger])))
        )
      )
    }
  )

  it.live("survives a defect, which is answered with 500 and without its cause", () =>
    Effect.gen(function* () {
      const answer = yield* ask("/v1/runs/00000000-0000-4000-8000-000000000001", { as: "vera" })
      assert.strictEqual(answer.status, 500)
      assert.match(answer.headers.get("content-type")!, /^application\/problem\+json/)
      assert.strictEqual(answer.json.type, "urn:troupe:problem:internal-fault")
      assert.notInclude(answer.text, "secret")
      assert.notMatch(answer.text, /\.ts|\/srv/)
      assert.strictEqual((yield* ask("/health")).status, 200)
    }).pipe(Effect.provide(layerReading(() => Effect.die(new Error("a secret in /srv/app/x.ts")))))
  )
})
