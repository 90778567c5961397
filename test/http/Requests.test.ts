/** One spelling of every path, one value of every header and parameter, and a declared type of every body. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bytes, parse, raw, rawBody } from "./Raw.ts"
import { ask, layer, layerOfSpectral, layerWith, tokenOf } from "./Service.ts"

const host = "Host: localhost"
const bearer = (who: Parameters<typeof tokenOf>[0]) => `Authorization: Bearer ${tokenOf(who)}`
const id = "00000000-0000-4000-8000-000000000001"
const open = ["/health", "/ready", "/docs", "/openapi.json", "/metrics"]

describe("a path", () => {
  const get = (target: string) => raw(`GET ${target} HTTP/1.1`, host, bearer("olga"))

  it.live("has one spelling, and any other is answered with 404 that may not be cached", () =>
    Effect.gen(function* () {
      for (const path of [
        "/V1/runs",
        "/v1/Runs",
        "//v1/runs",
        "/v1//runs",
        "/v1/runs/",
        "/v1/runs//",
        "/v1/../v1/runs",
        "/v1/./runs",
        "/./v1/runs",
        "/v1/%72uns",
        "/v1%2Fruns",
        "/v1%2fruns",
        "/v1\\runs",
        "/v1/runs%2F",
        "/v1/runs;a=b",
        "/v1/runs#x",
        `/v1/runs/${id};x=1`,
        `/v1/runs/${id}/`,
        `/v1/runs/${id}%2Fevents`,
        `/v1/runs/${id}%5Cevents`,
        `/v1/runs/x/../${id}`,
        `/v1/runs/%2e%2e/runs`,
        `/v1/runs/.`,
        `/v1/runs/%2E`,
        `/v1/runs/%`,
        `/v1/runs/%zz`,
        `/v1/runs/%c3%28`,
        ...open.flatMap((path) => [`${path}/`, `/${path}`, path.toUpperCase(), `${path};x`]),
        "http://localhost/v1/../v1/runs",
        "http://localhost//v1/runs",
        "*",
        "/"
      ]) {
        const answer = yield* get(path)
        assert.strictEqual(answer.status, 404, path)
        assert.strictEqual(answer.json.type, "urn:troupe:problem:no-such-route", path)
        assert.strictEqual(answer.headers["cache-control"], "no-store", path)
      }
      for (const path of ["/v1/runs", "/v1/runs?limit=1", "http://localhost/v1/runs", ...open]) {
        assert.strictEqual((yield* get(path)).status, 200, path)
      }
      const posted = yield* raw("POST http://evil.example/v1/messages HTTP/1.1", host)
      assert.strictEqual(posted.status, 421)
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "in another spelling is answered with 404, and reaches no route past its rate limit",
    () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* get("/v1/runs")).status, 200)
        assert.strictEqual((yield* get("/v1/runs")).status, 429)
        for (const path of ["/V1/runs", "//v1/runs", "/v1/runs/"]) {
          assert.strictEqual((yield* get(path)).status, 404, path)
          assert.strictEqual((yield* raw(`GET ${path} HTTP/1.1`, host)).status, 404, path)
        }
      }).pipe(Effect.provide(layerWith({ requests_principal_per_minute: 1 })))
  )

  it.live("may hold the longest id, percent-encoded or not", () =>
    Effect.gen(function* () {
      const long = `a${":".repeat(199)}`
      for (const name of [long, encodeURIComponent(long)]) {
        const answer = yield* get(`/v1/conversations/${name}`)
        assert.strictEqual(answer.status, 404, name)
        assert.strictEqual(answer.json.type, "urn:troupe:problem:conversation-not-found")
      }
      const longer = yield* get(`/v1/conversations/${long}a`)
      assert.strictEqual(longer.status, 400)
      // Beyond what the router takes there is no route, with a token or without one.
      for (const [length, status] of [
        [600, 400],
        [601, 404],
        [8_000, 404]
      ] as const) {
        const path = `/v1/runs/${"a".repeat(length)}`
        assert.strictEqual((yield* get(path)).status, status, String(length))
        const unknown = yield* raw(`GET ${path} HTTP/1.1`, host)
        assert.strictEqual(unknown.status, length > 600 ? 404 : 401, String(length))
      }
    }).pipe(Effect.provide(layer))
  )
})

describe("a query", () => {
  it.live("with an unknown parameter is refused by routes without a token too", () =>
    Effect.gen(function* () {
      for (const path of open) {
        for (const query of ["?x=1", "?x", "?token=y", "?x=1&x=2"]) {
          const answer = yield* ask(path + query, { as: "olga" })
          assert.strictEqual(answer.status, 400, path + query)
          assert.deepStrictEqual(answer.json.errors[0].path[0], "query")
        }
        assert.strictEqual((yield* ask(`${path}?`, { as: "olga" })).status, 200, path)
      }
      assert.strictEqual((yield* ask("/metrics?x=1")).status, 401)
    }).pipe(Effect.provide(layer))
  )

  it.live("has numbers in decimal digits only, and each parameter once", () =>
    Effect.gen(function* () {
      const numbers = {
        "/v1/conversations": ["limit", "before"],
        "/v1/conversations/c-1": ["limit", "after"],
        "/v1/runs": ["created_from", "created_to", "limit"],
        [`/v1/runs/${id}/events`]: ["limit", "after"],
        "/v1/approvals": ["limit"],
        "/v1/costs": ["from", "to", "limit"],
        "/v1/dead-letters": ["dead_from", "dead_to", "limit"],
        "/v1/quarantine": ["limit"],
        "/v1/scans": ["limit"],
        "/v1/failure-clusters": ["limit"],
        "/v1/failure-clusters/c-1/failures": ["limit"],
        "/v1/changesets": ["limit"],
        "/v1/drafts": ["limit"],
        [`/v1/quarantine/${id}/events`]: ["limit", "after"]
      }
      for (const [path, names] of Object.entries(numbers)) {
        for (const name of names) {
          for (const value of [
            ..."-7 1.5 1e2 1E2 +5 %2B5 0x10 0b1 01 -0 1_000 ٣ %20 Infinity NaN null".split(" "),
            "",
            "%205",
            "5%20",
            "5%0A",
            "9".repeat(30),
            "9007199254740993",
            `5&${name}=6`,
            `5&${name}=5`
          ]) {
            const answer = yield* ask(`${path}?${name}=${value}`, { as: "olga" })
            assert.strictEqual(answer.status, 400, `${path}?${name}=${value}`)
            assert.strictEqual(answer.json.type, "urn:troupe:problem:invalid-request")
            assert.deepStrictEqual(answer.json.errors[0].path.slice(0, 2), ["query", name])
          }
        }
      }
      for (const path of [
        "/v1/costs?model=%zz",
        "/v1/costs?model=%ff",
        "/v1/costs?model=a&model=a",
        "/v1/conversations/c-1/events?after=0&after=0",
        "/v1/conversations/c-1/events?after=1e2.1",
        "/v1/conversations/c-1/events?after=-1.0"
      ]) {
        assert.strictEqual((yield* ask(path, { as: "olga" })).status, 400, path)
      }
      const encoded = yield* ask(`/v1/conversations?%6cimit=%31`, { as: "olga" })
      assert.strictEqual(encoded.status, 200)
    }).pipe(Effect.provide(layerOfSpectral))
  )

  it.live(
    "with a range that ends before it begins is answered with 400, not with an empty list",
    () =>
      Effect.gen(function* () {
        for (const [path, from, to] of [
          ["/v1/costs", "from", "to"],
          ["/v1/runs", "created_from", "created_to"],
          ["/v1/dead-letters", "dead_from", "dead_to"]
        ] as const) {
          const refused = yield* ask(`${path}?${from}=10&${to}=9`, { as: "olga" })
          assert.strictEqual(refused.status, 400, path)
          assert.deepStrictEqual(refused.json.errors[0].path, ["query", from])
          for (const query of [`${from}=9&${to}=10`, `${from}=9&${to}=9`, `${to}=1`, `${from}=1`]) {
            assert.strictEqual((yield* ask(`${path}?${query}`, { as: "olga" })).status, 200, query)
          }
        }
      }).pipe(Effect.provide(layer))
  )
})

describe("a header", () => {
  it.live("of one value that comes twice is answered with 400, even with equal values", () =>
    Effect.gen(function* () {
      const trace = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
      for (const [one, two] of [
        ["Content-Type: application/json", "Content-Type: application/json"],
        ["Content-Type: application/json", "Content-Type: text/plain"],
        ["Idempotency-Key: a", "Idempotency-Key: b"],
        ["Idempotency-Key: a", "idempotency-key: a"],
        [trace, trace],
        ["Last-Event-ID: 0", "Last-Event-ID: 0"],
        ["Content-Encoding: identity", "Content-Encoding: identity"],
        [bearer("olga"), bearer("olga")]
      ] as const) {
        const body = '{"agent":"operations","text":"x"}'
        const lines = ["POST /v1/messages HTTP/1.1", host, bearer("olga")]
        if (!/^content-type/i.test(one)) lines.push("Content-Type: application/json")
        const answer = yield* rawBody(body, ...lines, one, two, `Content-Length: ${body.length}`)
        assert.strictEqual(answer.status, 400, one)
        assert.strictEqual(answer.json.type, "urn:troupe:problem:repeated-header", one)
      }
      assert.strictEqual((yield* ask("/v1/runs", { as: "olga" })).json.items.length, 0)
    }).pipe(Effect.provide(layer))
  )

  it.live("is never left out: a request with more than 2,000 is answered with 431", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 2_100 }, () => "a:")
      const alone = yield* raw("GET /v1/runs HTTP/1.1", host, ...many, bearer("olga"))
      assert.strictEqual(alone.status, 431)
      const again = [bearer("olga"), ...many, bearer("olga")]
      const second = yield* raw("GET /v1/runs HTTP/1.1", host, ...again)
      assert.strictEqual(second.status, 431)
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "that makes the length of a body ambiguous is refused, and nothing after it is read",
    () =>
      Effect.gen(function* () {
        const body = '{"agent":"operations","text":"x"}'
        const head = ["POST /v1/messages HTTP/1.1", host, bearer("olga")]
        for (const lines of [
          [`Content-Length: ${body.length}`, "Transfer-Encoding: chunked"],
          ["Transfer-Encoding: chunked", `Content-Length: ${body.length}`],
          [`Content-Length: ${body.length}`, `Content-Length: ${body.length + 1}`],
          [`Content-Length: ${body.length}`, `Content-Length: ${body.length}`],
          ["Content-Length: +5"],
          ["Content-Length: -5"],
          ["Content-Length: 0x5"],
          ["Content-Length: 5,5"],
          ["Transfer-Encoding: gzip, chunked"],
          ["Transfer-Encoding: chunked, identity"],
          ["Transfer-Encoding: x"]
        ]) {
          const type = "Content-Type: application/json"
          const text = `${[...head, type, ...lines].join("\r\n")}\r\n\r\n${body}GET /health HTTP/1.1\r\n${host}\r\n\r\n`
          const answer = yield* bytes(text)
          assert.match(answer, /^HTTP\/1\.1 (400|415|501) /, lines.join())
          assert.strictEqual(answer.split("HTTP/1.1 ").length, 2, answer)
          assert.match(parse(answer).headers["content-type"]!, /^application\/problem\+json/)
        }
        // Node takes the pieces apart, whatever else the body is coded in.
        const coded = yield* rawBody(
          `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
          ...head,
          "Content-Type: application/json",
          "Transfer-Encoding: gzip, chunked"
        )
        assert.strictEqual(coded.status, 501)
        assert.strictEqual(coded.json.type, "urn:troupe:problem:unknown-transfer-coding")
        assert.strictEqual((yield* ask("/v1/runs", { as: "olga" })).json.items.length, 0)
      }).pipe(Effect.provide(layer))
  )
})

describe("a body", () => {
  const posts = [
    ["POST", "/v1/messages"],
    ["POST", "/v1/conversations/c-1/messages"],
    ["POST", `/v1/runs/${id}/cancel`],
    ["POST", `/v1/runs/${id}/settle`],
    ["POST", `/v1/approvals/${id}/decision`],
    ["POST", `/v1/dead-letters/${id}/replay`],
    ["POST", `/v1/dead-letters/${id}/discard`],
    ["PUT", "/v1/kill-switch"]
  ] as const

  it.live("without a type or of another type is answered with 415", () =>
    Effect.gen(function* () {
      const body = "{}"
      for (const [method, path] of posts) {
        for (const type of [
          [],
          ["Content-Type:"],
          ...[
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json, text/plain",
            "application/json; charset=latin1",
            "application/json; charset=utf-16",
            "application/json; charset",
            "application/json; charset=",
            "application/json; charset=utf-8; charset=latin1",
            "application/jsonx",
            "application/problem+json"
          ].map((type) => [`Content-Type: ${type}`])
        ]) {
          const lines = [`${method} ${path} HTTP/1.1`, host, bearer("olga"), ...type]
          const length = yield* rawBody(body, ...lines, `Content-Length: ${body.length}`)
          assert.strictEqual(length.status, 415, `${path} ${type.join()}`)
          const chunked = yield* rawBody(
            `2\r\n{}\r\n0\r\n\r\n`,
            ...lines,
            "Transfer-Encoding: chunked"
          )
          assert.strictEqual(chunked.status, 415, `${path} ${type.join()}`)
        }
        for (const type of [
          "application/json; charset=UTF-8",
          'Application/JSON;charset="utf-8"'
        ]) {
          const lines = [`${method} ${path} HTTP/1.1`, host, bearer("olga")]
          const length = `Content-Length: ${body.length}`
          const answer = yield* rawBody(body, ...lines, `Content-Type: ${type}`, length)
          assert.strictEqual(answer.status, 400, `${path} ${type}`)
        }
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("of a request whose route reads none is answered with 400", () =>
    Effect.gen(function* () {
      for (const line of [
        "GET /v1/runs",
        "GET /health",
        "GET /metrics",
        "HEAD /v1/runs",
        `POST /v1/quarantine/${id}/release`
      ]) {
        const lines = [`${line} HTTP/1.1`, host, bearer("olga"), "Content-Type: application/json"]
        for (const [length, body] of [
          ["Content-Length: 2", "{}"],
          ["Transfer-Encoding: chunked", "2\r\n{}\r\n0\r\n\r\n"]
        ] as const) {
          assert.strictEqual((yield* rawBody(body, ...lines, length)).status, 400, line)
        }
        const empty = yield* raw(...lines, "Content-Length: 0")
        assert.strictEqual(empty.status, line.startsWith("POST") ? 404 : 200, line)
      }
    }).pipe(Effect.provide(layer))
  )
})
