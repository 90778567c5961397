/** Every route with hostile requests: each has a proper answer, none causes a fault or hangs. */
import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bytes, parse, port, raw, rawBody } from "./Raw.ts"
import { ask, layer, layerWith, tokenOf } from "./Service.ts"

const host = "Host: localhost"
const json = "Content-Type: application/json"
const bearer = `Authorization: Bearer ${tokenOf("olga")}`
const id = "00000000-0000-4000-8000-000000000001"

/** Each path that is served, with the methods that it takes. */
const served = Effect.map(ask("/openapi.json"), (answer) => {
  const paths = answer.json.paths as Record<string, Record<string, unknown>>
  const found = new Map(
    Object.entries(paths).map(([path, item]) => [
      path.replace(/\{\w+\}/g, id),
      Object.keys(item).map((method) => method.toUpperCase())
    ])
  )
  for (const path of ["/openapi.json", "/docs", "/metrics"]) found.set(path, ["GET"])
  return found
})

const isProblem = (headers: Readonly<Record<string, string>>) =>
  (headers["content-type"] ?? "").startsWith("application/problem+json")

describe("every route", () => {
  it.live("answers a method that it does not have with 405 and the methods that it has", () =>
    Effect.gen(function* () {
      for (const [path, methods] of yield* served) {
        const takes = methods.includes("GET") ? [...methods, "HEAD"] : methods
        for (const method of "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE QUERY".split(" ")) {
          if (takes.includes(method)) continue
          const answer = yield* raw(`${method} ${path} HTTP/1.1`, host)
          assert.strictEqual(answer.status, 405, `${method} ${path}`)
          assert.sameMembers(answer.headers["allow"]!.split(", "), takes, path)
        }
        assert.strictEqual((yield* raw(`NONSENSE ${path} HTTP/1.1`, host)).status, 400)
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("answers HEAD as it answers GET, without a body, and ends a stream's HEAD at once", () =>
    Effect.gen(function* () {
      const json = { agent: "operations", text: "x" }
      const sent = yield* ask("/v1/messages", { as: "olga", json })
      const stream = `/v1/conversations/${sent.json.conversation_id}/events`
      for (const [path, methods] of [...(yield* served), [stream, ["GET"]] as const]) {
        if (!methods.includes("GET")) continue
        const head = yield* raw(`HEAD ${path} HTTP/1.1`, host, bearer)
        assert.strictEqual(head.text, "", path)
        if (path === stream) assert.strictEqual(head.status, 200)
        else {
          const got = yield* raw(`GET ${path} HTTP/1.1`, host, bearer)
          assert.strictEqual(head.status, got.status, path)
          assert.strictEqual(head.headers["content-type"], got.headers["content-type"], path)
        }
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("answers in JSON whatever Accept, Range and condition headers say", () =>
    Effect.gen(function* () {
      for (const line of [
        "Accept: application/xml",
        "Accept: text/html",
        "Accept: ;;;",
        "Accept-Encoding: gzip, br",
        "Accept-Charset: utf-7",
        "Range: bytes=0-1",
        "Range: bytes=1-0",
        "If-None-Match: *",
        "If-Match: *",
        "If-Modified-Since: Thu, 01 Jan 2099 00:00:00 GMT",
        "If-Unmodified-Since: x",
        "X-HTTP-Method-Override: DELETE",
        "X-Forwarded-For: 127.0.0.1",
        "X-Forwarded-Host: evil.example",
        "X-Original-URL: /v1/kill-switch",
        "Cookie: a=b",
        "Connection: Authorization",
        "TE: trailers"
      ]) {
        const answer = yield* raw("GET /v1/runs HTTP/1.1", host, bearer, line)
        assert.strictEqual(answer.status, 200, line)
        assert.deepStrictEqual(answer.json, { items: [] }, line)
        assert.match(answer.headers["content-type"]!, /^application\/json/)
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("accepts a known token in the Authorization header, and nothing else", () =>
    Effect.gen(function* () {
      for (const [path, methods] of yield* served) {
        if (["/health", "/ready", "/docs", "/openapi.json"].includes(path)) continue
        for (const line of [
          "X: y",
          "Authorization:",
          "Authorization: Bearer",
          "Authorization: Bearer ",
          `Authorization: ${tokenOf("olga")}`,
          `Authorization: Basic ${tokenOf("olga")}`,
          `Authorization: Bearer ${tokenOf("olga")},`,
          `Authorization: Bearer ${tokenOf("olga")} x`,
          `Authorization: Bearer ${tokenOf("olga")}%00`,
          `Authorization: Bearer ${"x".repeat(10_000)}`,
          `Authorization: Bearer \u00fc`
        ]) {
          const answer = yield* raw(`${methods[0]} ${path} HTTP/1.1`, host, line)
          assert.strictEqual(answer.status, 401, `${path} ${line.slice(0, 60)}`)
          assert.strictEqual(answer.headers["www-authenticate"], 'Bearer realm="troupe"')
        }
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("answers malformed bodies of every kind with 4xx", () =>
    Effect.gen(function* () {
      const bodies = [
        "",
        " ",
        "null",
        "[]",
        '"x"',
        "{",
        "{}{}",
        '{"agent":"operations","agent":"operations","text":"x"}',
        '{"agent":"operations","text":""}',
        '{"agent":"operations","text":7}',
        '{"agent":"operations","text":"x","__proto__":{"by":"olga"}}',
        '{"agent":"operations","text":"x","constructor":{}}',
        '{"agent":"\\u0000","text":"x"}',
        '{"agent":"\\ud800","text":"x"}',
        '{"on":"true"}',
        '{"on":1}',
        '{"reason":"\\u0000"}',
        '{"call":"\\u0000","outcome":{"succeeded":1}}',
        '{"call":"0/1.0","outcome":{"succeeded":1e400}}',
        `{"reason":"${"x".repeat(1_000_000)}"}`,
        `${"[".repeat(5_000)}${"]".repeat(5_000)}`,
        "\ufeff{}",
        "{\u0000}",
        "{'a':1}",
        '{"a":NaN}'
      ]
      for (const [path, methods] of yield* served) {
        // Its body is any file, of which none of these is malformed: see Files.test.ts for forms.
        const type = path === "/v1/files" ? "Content-Type: multipart/form-data; boundary=x" : json
        for (const method of methods) {
          if (method === "GET") continue
          for (const body of bodies) {
            // Nothing but an object is needed here, and readers of JSON skip the mark before it.
            if (path === "/v1/policy/trial" && body === "\ufeff{}") continue
            const length = `Content-Length: ${Buffer.byteLength(body)}`
            const answer = yield* rawBody(
              body,
              `${method} ${path} HTTP/1.1`,
              host,
              bearer,
              type,
              length
            )
            const where = `${method} ${path} ${body.slice(0, 60)}: ${answer.status}`
            assert.isTrue(answer.status >= 400 && answer.status < 500, where)
            assert.isTrue(isProblem(answer.headers), where)
          }
        }
      }
    }).pipe(Effect.provide(layer))
  )
})

describe("a text of a message", () => {
  it.live("is accepted with whatever JSON can escape, or is refused with 4xx, never with 500", () =>
    Effect.gen(function* () {
      for (const text of [
        "\\u0000",
        "\\ud800",
        "a\\udfffb",
        "\\u202e",
        "\\u001b[2J",
        "\ud83d\ude00"
      ]) {
        const body = `{"agent":"operations","text":"${text}"}`
        const answer = yield* ask("/v1/messages", { as: "olga", body })
        assert.include([202, 400], answer.status, text)
        if (answer.status === 400) continue
        const { conversation_id, run_id } = answer.json
        for (const path of [
          `/v1/conversations/${conversation_id}`,
          `/v1/runs/${run_id}`,
          "/v1/runs"
        ]) {
          assert.strictEqual((yield* ask(path, { as: "olga" })).status, 200, text)
        }
      }
      for (const key of ["\u00fc", "a, b", '"', "x".repeat(200)]) {
        const answer = yield* ask("/v1/messages", {
          as: "olga",
          json: { agent: "operations", text: "x" },
          headers: { "idempotency-key": key }
        })
        assert.strictEqual(answer.status, 202, key)
      }
      const long = { "idempotency-key": "x".repeat(201) }
      const refused = yield* ask("/v1/messages", {
        as: "olga",
        json: { agent: "operations", text: "x" },
        headers: long
      })
      assert.strictEqual(refused.status, 400)
    }).pipe(Effect.provide(layer))
  )
})

describe("bytes that are no proper request", () => {
  it.live("are answered with a problem, and their connection is closed", () =>
    Effect.gen(function* () {
      for (const [text, status] of [
        [`GET /${"x".repeat(100_000)} HTTP/1.1\r\n${host}\r\n\r\n`, 431],
        [`GET /health?${"x".repeat(100_000)} HTTP/1.1\r\n${host}\r\n\r\n`, 431],
        [`GET /health HTTP/1.1\r\n${host}\r\nX: ${"y".repeat(100_000)}\r\n\r\n`, 431],
        [`GET /health HTTP/1.1\r\n${host}\r\n${"a: b\r\n".repeat(20_000)}\r\n`, 431],
        [`GET /health HTTP/1.1\r\n${host}\r\nX : y\r\n\r\n`, 400],
        [`GET /health HTTP/1.1\r\n${host}\r\nX: a\u0000b\r\n\r\n`, 400],
        [`GET /health HTTP/1.1\r\n${host}\r\nX: a\rb\r\n\r\n`, 400],
        [`GET /health HTTP/1.1\n${host}\n\n`, 400],
        [`GET /health HTTP/1.1\r\n ${host}\r\n\r\n`, 400],
        [`GET /health\r\n${host}\r\n\r\n`, 400],
        [`GET /health HTTP/9.9\r\n${host}\r\n\r\n`, 400],
        [`GET /h\u0000 HTTP/1.1\r\n${host}\r\n\r\n`, 400],
        ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
        ["\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc", 400],
        [
          `POST /v1/messages HTTP/1.1\r\n${host}\r\n${bearer}\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
          400
        ]
      ] as const) {
        const answer = parse(yield* bytes(Buffer.from(text, "latin1")))
        assert.strictEqual(answer.status, status, JSON.stringify(text.slice(0, 60)))
        assert.isTrue(isProblem(answer.headers), JSON.stringify(text.slice(0, 60)))
        assert.strictEqual(answer.headers["cache-control"], "no-store")
      }
      assert.strictEqual((yield* ask("/health")).status, 200)
    }).pipe(Effect.provide(layer))
  )

  it.live("end the event stream before them, and put no answer into it", () =>
    Effect.gen(function* () {
      const json = { agent: "operations", text: "x" }
      const sent = yield* ask("/v1/messages", { as: "olga", json })
      const path = `/v1/conversations/${sent.json.conversation_id}/events`
      const get = `GET ${path} HTTP/1.1\r\n${host}\r\n${bearer}\r\n\r\n`
      const at = yield* port
      const unmet = `GET /health HTTP/1.1\r\n${host}\r\nExpect: more\r\n\r\n`
      for (const after of ["NONSENSE\r\n\r\n", `${get}NONSENSE\r\n\r\n`, unmet]) {
        const received = yield* Effect.callback<string>((resume) => {
          let text = ""
          const socket = connect(at, "127.0.0.1", () => socket.write(get))
          socket.on("data", (chunk) => {
            if (text === "") socket.write(after)
            // An expectation is answered behind the stream, which does not end.
            if (text === "" && after === unmet) setTimeout(() => socket.destroy(), 200)
            text += chunk.toString()
          })
          socket.on("error", () => {})
          socket.on("close", () => resume(Effect.succeed(text)))
        })
        assert.strictEqual(received.split("HTTP/1.1 ").length, 2, received)
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("with an Expect header are served for `100-continue` and refused for anything else", () =>
    Effect.gen(function* () {
      const body = '{"agent":"operations","text":"x"}'
      const head = ["POST /v1/messages HTTP/1.1", host, json, "Expect: 100-continue"]
      const length = `Content-Length: ${body.length}`
      const refused = yield* raw(...head, length)
      assert.strictEqual(refused.status, 401)
      const large = yield* raw(...head, bearer, "Content-Length: 9000000")
      assert.strictEqual(large.status, 413)
      const told = yield* bytes(
        `${[...head, bearer, length, "Connection: close"].join("\r\n")}\r\n\r\n${body}`
      )
      assert.match(told, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 202 /)
      const other = yield* raw("GET /health HTTP/1.1", host, "Expect: a-miracle")
      assert.strictEqual(other.status, 417)
      assert.isTrue(isProblem(other.headers))
      assert.strictEqual(other.headers["cache-control"], "no-store")
    }).pipe(Effect.provide(layer))
  )

  it.live("that ask for an upgrade get none", () =>
    Effect.gen(function* () {
      const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
      for (const protocol of ["websocket", "h2c", "x"]) {
        for (const [path, status] of [
          ["/health", 200],
          ["/v1/runs", 401],
          ["/nowhere", 404]
        ] as const) {
          const answer = yield* bytes(
            `GET ${path} HTTP/1.1\r\n${host}\r\nUpgrade: ${protocol}\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n${key}\r\n\r\n`
          )
          assert.strictEqual(parse(answer).status, status, `${protocol} ${path}`)
        }
      }
      const tunnel = yield* bytes(`CONNECT localhost:22 HTTP/1.1\r\n${host}\r\n\r\n`)
      assert.notInclude(tunnel, " 200 ")
    }).pipe(Effect.provide(layer))
  )

  it.live("that hold several requests in one packet are answered in their order", () =>
    Effect.gen(function* () {
      const one = (path: string) => `GET ${path} HTTP/1.1\r\n${host}\r\n${bearer}\r\n\r\n`
      const last = `GET /health HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`
      const answers = yield* bytes(
        one("/v1/runs") + one("/nowhere") + one("/v1/runs?x=1") + one("/ready").repeat(50) + last
      )
      const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)
      assert.deepStrictEqual(statuses.slice(0, 3), ["200", "404", "400"])
      assert.strictEqual(statuses.length, 54)
    }).pipe(Effect.provide(layer))
  )

  it.live("that arrive too slowly are cut off, in the head as well as in the body", () =>
    Effect.gen(function* () {
      const at = yield* port
      for (const [begin, drop] of [
        [`GET /health HTTP/1.1\r\n${host}\r\n`, "X: y\r\n"],
        [
          `POST /v1/messages HTTP/1.1\r\n${host}\r\n${bearer}\r\n${json}\r\nContent-Length: 100000\r\n\r\n`,
          " "
        ]
      ] as const) {
        const received = yield* Effect.callback<string>((resume) => {
          let text = ""
          const socket = connect(at, "127.0.0.1", () => socket.write(begin))
          const timer = setInterval(() => socket.write(drop), 50)
          socket.on("data", (chunk) => (text += chunk.toString()))
          socket.on("error", () => {})
          socket.on("close", () => {
            clearInterval(timer)
            resume(Effect.succeed(text))
          })
        })
        assert.match(received, /^HTTP\/1\.1 408 /, begin)
        assert.isTrue(isProblem(parse(received).headers))
      }
      assert.strictEqual((yield* ask("/health")).status, 200)
    }).pipe(Effect.provide(layerWith({}, { request_ms: 400 })))
  )

  it.live("that end in the middle of a body cause no fault", () =>
    Effect.gen(function* () {
      const at = yield* port
      const head = `POST /v1/messages HTTP/1.1\r\n${host}\r\n${bearer}\r\n${json}\r\nContent-Length: 100\r\n\r\n{"agent":`
      for (const leave of ["end", "destroy", "resetAndDestroy"] as const) {
        yield* Effect.callback<void>((resume) => {
          const socket = connect(at, "127.0.0.1", () => socket.write(head, () => socket[leave]()))
          socket.on("data", () => {})
          socket.on("error", () => {})
          socket.on("close", () => resume(Effect.void))
        })
      }
      assert.strictEqual((yield* ask("/v1/runs", { as: "olga" })).json.items.length, 0)
    }).pipe(Effect.provide(layer))
  )
})
