/** What holds for every request and answer: hosts, headers, parameters, ids and caches. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { contentPolicy } from "../../layers/http/server/Edge.ts"
import { port, raw } from "./Raw.ts"
import { ask, layer, layerWith, tokenOf } from "./Service.ts"

const authorization = `Authorization: Bearer ${tokenOf("vera")}`

describe("the Host header", () => {
  const get = (host: string, path = "/health") => raw(`GET ${path} HTTP/1.1`, `Host: ${host}`)

  it.live(
    "must name this machine on loopback, or the request is refused before it has an effect",
    () =>
      Effect.gen(function* () {
        for (const host of [
          "localhost",
          "127.0.0.1",
          "[::1]",
          "LOCALHOST",
          `localhost:${yield* port}`
        ]) {
          assert.strictEqual((yield* get(host)).status, 200, host)
        }
        for (const host of [
          "evil.example",
          "evil.example:80",
          "localhost.evil.example",
          "127.0.0.1.evil.example",
          "localhost."
        ]) {
          for (const path of ["/health", "/v1/agents", "/docs", "/nowhere"]) {
            const refused = yield* get(host, path)
            assert.strictEqual(refused.status, 421, host)
            assert.strictEqual(refused.json.type, "urn:troupe:problem:misdirected-request")
          }
        }
        for (const host of ["", "a b", "user@localhost", "localhost:x"]) {
          assert.strictEqual((yield* get(host)).status, 400, host)
        }
        const two = yield* raw("GET /health HTTP/1.1", "Host: localhost", "Host: evil.example")
        assert.strictEqual(two.status, 400)
        const none = yield* raw("GET /health HTTP/1.1")
        assert.strictEqual(none.json.type, "urn:troupe:problem:bad-host")
      }).pipe(Effect.provide(layer))
  )

  it.live("may name a configured host", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* get("agents.example:443")).status, 200)
      assert.strictEqual((yield* get("localhost")).status, 200)
      assert.strictEqual((yield* get("other.example")).status, 421)
    }).pipe(Effect.provide(layerWith({ hosts: ["Agents.Example"] })))
  )

  it.live("may be any where the server listens beyond loopback and no host is configured", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* get("agents.example")).status, 200)
    }).pipe(Effect.provide(layerWith({}, { host: "0.0.0.0" })))
  )
})

describe("a request", () => {
  it.live("with two Authorization headers is refused, whichever of them is valid", () =>
    Effect.gen(function* () {
      for (const other of ["Bearer nonsense", `Bearer ${tokenOf("olga")}`, ""]) {
        for (const lines of [
          [authorization, `Authorization: ${other}`],
          [`Authorization: ${other}`, authorization]
        ]) {
          const answer = yield* raw("GET /v1/agents HTTP/1.1", "Host: localhost", ...lines)
          assert.strictEqual(answer.status, 400, lines.join())
          assert.strictEqual(answer.json.type, "urn:troupe:problem:repeated-header")
        }
      }
      const one = yield* raw("GET /v1/agents HTTP/1.1", "Host: localhost", authorization)
      assert.strictEqual(one.status, 200)
    }).pipe(Effect.provide(layer))
  )

  it.live("with an unknown parameter is answered with 400 and the parameter's name", () =>
    Effect.gen(function* () {
      for (const [path, name] of [
        ["/v1/conversations?limit=1&Limit=2", "Limit"],
        ["/v1/approvals?state=pending", "state"],
        ["/v1/dead-letters?handler=x", "handler"],
        ["/v1/agents?x", "x"],
        ["/v1/costs?tenant=other", "tenant"],
        ["/v1/kill-switch?on=true", "on"]
      ] as const) {
        const answer = yield* ask(path, { as: "olga" })
        assert.strictEqual(answer.status, 400, path)
        assert.deepStrictEqual(answer.json.errors[0].path, ["query", name])
      }
      const json = { agent: "operations", text: "x" }
      const posted = yield* ask("/v1/messages?agent=spectral", { as: "olga", json })
      assert.strictEqual(posted.status, 400)
    }).pipe(Effect.provide(layer))
  )

  it.live("with a NUL or a number out of range is answered with 400, never with 500", () =>
    Effect.gen(function* () {
      const id = "00000000-0000-4000-8000-000000000001"
      for (const path of [
        "/v1/dead-letters?handler_name=%00",
        "/v1/costs?model=a%00",
        "/v1/costs?tool=%00",
        "/v1/costs?trace_id=%00",
        "/v1/costs?after=%00",
        "/v1/costs?agent=%00",
        "/v1/conversations/%00",
        "/v1/conversations/a%00/events",
        "/v1/runs/%00",
        `/v1/approvals/${id}%00`,
        "/v1/approvals?after=%00",
        "/v1/conversations?after=%00",
        "/v1/dead-letters/%00",
        ...["2147483647", "99999999999999999999", "1e400", "-2", "NaN", "1.5"].flatMap((after) => [
          `/v1/runs/${id}/events?after=${after}`,
          `/v1/conversations/c-1?after=${after}`
        ]),
        ...["9007199254740993", "99999999999999999999", "1e400", "-1"].flatMap((moment) => [
          `/v1/costs?from=${moment}`,
          `/v1/costs?to=${moment}`,
          `/v1/dead-letters?dead_from=${moment}`,
          `/v1/dead-letters?dead_to=${moment}`
        ]),
        "/v1/conversations?limit=99999999999999999999"
      ]) {
        const answer = yield* ask(path, { as: "vera" })
        assert.strictEqual(answer.status, 400, path)
        assert.strictEqual(answer.json.type, "urn:troupe:problem:invalid-request")
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("with a body of 100,000 nested arrays is answered with 4xx, never with 500", () =>
    Effect.gen(function* () {
      const id = "00000000-0000-4000-8000-000000000001"
      const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
      for (const [path, body] of [
        [`/v1/approvals/${id}/decision`, `{"decision":"modify","arguments":{"a":${deep}}}`],
        [`/v1/approvals/${id}/decision`, deep],
        [`/v1/runs/${id}/settle`, `{"call":"0/1.0","outcome":{"succeeded":${deep}}}`],
        ["/v1/messages", `{"agent":${deep},"text":"x"}`]
      ] as const) {
        const { status, text } = yield* ask(path, { as: "olga", body, method: "POST" })
        assert.isTrue(status >= 400 && status < 500, `${path} ${status} ${text.slice(0, 200)}`)
      }
    }).pipe(Effect.provide(layer))
  )
})

describe("an answer", () => {
  it.live("may not be cached, and a problem has the request's id", () =>
    Effect.gen(function* () {
      const seen = new Set<string>()
      const big = "x".repeat(3_000_000)
      for (const [path, options, status] of [
        ["/v1/conversations", { as: "vera" }, 200],
        ["/v1/conversations/", { as: "vera" }, undefined],
        ["/V1/Conversations", { as: "vera" }, undefined],
        ["//v1/conversations", { as: "vera" }, undefined],
        ["/v1/conversations", { as: "vera", method: "HEAD" }, 200],
        ["/v1/conversations", {}, 401],
        ["/v1/conversations", { as: "vera", method: "DELETE" }, 405],
        ["/v1/messages", { as: "vera", json: {} }, 403],
        ["/v1/messages", { as: "olga", body: "{" }, 400],
        ["/v1/messages", { as: "olga", json: { agent: "operations", text: big } }, 413],
        ["/v1/runs/%zz", { as: "vera" }, undefined],
        ["/nowhere", {}, 404],
        ["/health", {}, 200],
        ["/docs", {}, 200],
        ["/openapi.json", {}, 200],
        ["/metrics", {}, 401]
      ] as const) {
        const answer = yield* ask(path, options)
        if (status !== undefined) assert.strictEqual(answer.status, status, path)
        assert.strictEqual(answer.headers.get("cache-control"), "no-store", path)
        assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff", path)
        const id = answer.headers.get("x-correlation-id") ?? ""
        assert.match(id, /^[0-9a-f]{32}$/, path)
        assert.isFalse(seen.has(id))
        seen.add(id)
        if (answer.status >= 400) assert.strictEqual(answer.json.correlation_id, id, path)
      }
      for (const lines of [["NONSENSE"], ["GET /health HTTP/1.1", `X: ${"y".repeat(40_000)}`]]) {
        const answer = yield* raw(...lines)
        assert.isTrue(answer.status >= 400)
        assert.strictEqual(answer.json.correlation_id, answer.headers["x-correlation-id"])
        assert.strictEqual(answer.headers["cache-control"], "no-store")
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("allows no script but those of the documents page, by their hashes", () =>
    Effect.gen(function* () {
      const { headers, text } = yield* ask("/docs")
      const policy = headers.get("content-security-policy") ?? ""
      assert.match(policy, /(^|; )default-src 'none'/)
      assert.match(policy, /frame-ancestors 'none'/)
      assert.notMatch(policy, /script-src[^;]*unsafe|script-src[^;]*https?:/)
      const scripts = [...text.matchAll(/<script(?:\s[^>]*)?>([\s\S]*?)<\/script>/g)]
      assert.isNotEmpty(scripts)
      for (const [, script] of scripts) {
        const hash = createHash("sha256").update(script!).digest("base64")
        assert.include(policy, `'sha256-${hash}'`)
      }
      const other = yield* ask("/v1/agents", { as: "vera" })
      assert.match(other.headers.get("content-security-policy")!, /^default-src 'none'/)
      assert.notInclude(other.headers.get("content-security-policy")!, "script-src")
    }).pipe(Effect.provide(layer))
  )

  it("hashes the scripts of a page once, which has megabytes and needs no token", () => {
    const page = HttpServerResponse.html(`<script>${"x;".repeat(1_000_000)}</script>`)
    assert.include(contentPolicy(page), "script-src 'sha256-")
    const begun = performance.now()
    for (let i = 0; i < 500; i++) contentPolicy(page)
    // Each look at its text takes milliseconds.
    assert.isBelow(performance.now() - begun, 300)
  })
})

describe("metrics", () => {
  it.live("need a token of the staff", () =>
    Effect.gen(function* () {
      for (const path of ["/metrics", "/metrics/"]) {
        assert.notStrictEqual((yield* ask(path)).status, 200, path)
      }
      assert.strictEqual((yield* ask("/metrics", { as: "carl" })).status, 403)
      assert.strictEqual((yield* ask("/metrics", { as: "vera" })).status, 200)
    }).pipe(Effect.provide(layer))
  )

  it.live("need no token where the settings say so", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask("/metrics")).status, 200)
    }).pipe(Effect.provide(layerWith({ metrics_open: true })))
  )
})
