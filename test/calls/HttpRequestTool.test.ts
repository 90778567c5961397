/** `http_request` as the gate uses it. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import type { Options } from "../../layers/calls/GuardedFetch.ts"
import * as HttpRequestTool from "../../layers/calls/HttpRequestTool.ts"
import { isOutcomeLost } from "../../layers/runtime/tool/FailedOutcome.ts"
import { ToolError } from "../../src/error/ToolError.ts"
import { web } from "./Web.ts"
import { Schema } from "effect"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"
import { contextOf } from "../tool/CallContexts.ts"

const toolOf = (options: Options) =>
  Effect.map(HttpRequestTool.tools(options), (tools) => tools[0]!)

/** The result that the model would get, through decoding, the body and encoding. */
const use = Effect.fnUntraced(function* (options: Options, args: unknown) {
  const tool = yield* toolOf(options)
  const decoded = tool.decode(args)
  assert.isTrue(Exit.isSuccess(decoded))
  const result = yield* handlerEffect(
    tool.handler,
    Exit.isSuccess(decoded) ? decoded.value : undefined,
    contextOf({})
  )
  const encoded = tool.encode(result)
  assert.isTrue(Exit.isSuccess(encoded))
  return Exit.isSuccess(encoded) ? (encoded.value as Readonly<Record<string, unknown>>) : {}
})

const isToolError = Schema.is(ToolError)

const failure = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.isTrue(isToolError(error), String(error))
    return error as unknown as ToolError
  })

describe("http_request", () => {
  it.effect("is a read with GET and HEAD, and a write with any other method", () =>
    Effect.gen(function* () {
      const reads = yield* toolOf({})
      assert.deepInclude(reads.spec, {
        side_effects: "read",
        category: "read",
        capabilities: ["net.fetch"]
      })
      const posts = yield* toolOf({ methods: ["GET", "POST"] })
      assert.deepInclude(posts.spec, { side_effects: "external", category: "mutate" })
      for (const args of [{}, { url: "" }, { url: "http://a", method: "CONNECT" }, { url: 1 }]) {
        assert.isTrue(Exit.isFailure(reads.decode(args)), JSON.stringify(args))
      }
    })
  )

  it.live("returns text, an error status and a body that is not text, without cookies", () =>
    Effect.gen(function* () {
      const { port } = yield* web(({ url }, response) => {
        const type = url === "/binary" ? "application/octet-stream" : "text/plain; charset=utf-8"
        response.writeHead(url === "/gone" ? 410 : 200, {
          "content-type": type,
          "set-cookie": "session=canary",
          etag: '"1"'
        })
        response.end(url === "/cut" ? "ab€" : url === "/binary" ? Buffer.from([0, 255]) : "héllo")
      })
      const options: Options = {
        ports: [port],
        allow_ranges: ["127.0.0.1/32"],
        response_bytes_max: 1_000
      }
      const get = (path: string, more: Options = {}) =>
        use({ ...options, ...more }, { url: `http://127.0.0.1:${port}${path}` })
      const text = yield* get("/text")
      assert.deepInclude(text, { status: 200, body: "héllo", truncated: false, binary: false })
      assert.notInclude(JSON.stringify(text), "canary")
      assert.deepInclude(text["headers"], { etag: '"1"' })
      assert.deepInclude(yield* get("/gone"), { status: 410 })
      assert.deepInclude(yield* get("/binary"), { binary: true, body: "", bytes: 2 })
      const cut = yield* get("/cut", { response_bytes_max: 4 })
      assert.deepInclude(cut, { body: "ab", truncated: true })
    }).pipe(Effect.scoped)
  )

  it.live("shows no credential that the host gives back, wherever it stands", () =>
    Effect.gen(function* () {
      const { port } = yield* web(({ headers, url }, response) => {
        const given = String(headers["authorization"]).replace("Bearer ", "")
        const location = url === "/" ? `/told?as=${given}` : undefined
        response.writeHead(location === undefined ? 200 : 302, {
          "content-type": `text/plain; note=${given}`,
          etag: given,
          ...(location === undefined ? undefined : { location })
        })
        response.end(given)
      })
      const origin = `http://127.0.0.1:${port}`
      const result = yield* use(
        {
          ports: [port],
          allow_ranges: ["127.0.0.1/32"],
          credentials: { [origin]: { authorization: "Bearer canary-4711" } }
        },
        { url: `${origin}/` }
      )
      assert.notInclude(JSON.stringify(result), "canary-4711")
      assert.strictEqual(result["url"], `${origin}/told?as=[secret]`)
    }).pipe(Effect.scoped)
  )

  it.live("has the answer of a POST as its result, or an unknown outcome without one", () =>
    Effect.gen(function* () {
      const inside = yield* web((_, response) => response.end("inside"), "127.0.0.2")
      const server = yield* web(({ url }, response) => {
        const [, status = "200", to] = /^\/(\d+)(?:\?(.*))?$/.exec(url) ?? []
        if (to !== undefined) {
          response.writeHead(Number(status), { location: decodeURIComponent(to) }).end("moved")
        } else if (url === "/zstd") {
          response.writeHead(201, { "content-type": "text/plain", "content-encoding": "zstd" })
          response.end("packed")
        } else if (url === "/bad_gzip") {
          response.writeHead(200, { "content-encoding": "gzip" }).end("no gzip")
        } else if (url === "/cut") {
          response.writeHead(200, { "content-length": "1000" })
          response.write("x", () => response.destroy())
        } else if (url === "/none") response.destroy()
        else if (url === "/no_http") response.socket?.end("no http\r\n\r\n")
      })
      const options: Options = {
        methods: ["GET", "POST", "DELETE"],
        ports: [server.port, inside.port],
        allow_ranges: ["127.0.0.1/32"],
        timeout_ms: 300
      }
      const send = (path: string, method = "POST") =>
        Effect.exit(use(options, { url: `http://127.0.0.1:${server.port}${path}`, method }))
      for (const status of [301, 302, 303, 307, 308]) {
        for (const to of ["/200", `http://127.0.0.2:${inside.port}/`, "http://[", `/${status}`]) {
          const exit = yield* send(`/${status}?${encodeURIComponent(to)}`)
          assert.deepNestedInclude(exit, { "value.status": status, "value.body": "moved" }, to)
          assert.deepNestedInclude(exit, { "value.headers.location": to })
        }
      }
      assert.deepNestedInclude(yield* send("/302?%2F200", "DELETE"), { "value.status": 302 })
      const packed = { "value.status": 201, "value.binary": true, "value.body": "" }
      assert.deepNestedInclude(yield* send("/zstd"), packed)
      for (const path of ["/bad_gzip", "/cut", "/none", "/no_http", "/silent"]) {
        const exit = yield* send(path)
        assert.isTrue(Exit.isFailure(exit) && isOutcomeLost(exit.cause), path)
      }
      // Each was sent once, and to no other host.
      assert.lengthOf(server.seen, 27)
      assert.strictEqual(inside.connections.made, 0)
      // A read that fails has no effect, and its error says why.
      const read = yield* send("/zstd", "GET")
      assert.isTrue(Exit.isFailure(read) && !isOutcomeLost(read.cause))
      if (Exit.isFailure(read)) {
        assert.deepInclude(Cause.squash(read.cause), { reason: "FETCH_ENCODING" })
      }
    }).pipe(Effect.scoped)
  )

  it.live("fails with one of the four error classes", () =>
    Effect.gen(function* () {
      for (const [args, options, tag, kind] of [
        [{ url: "http://10.0.0.1/" }, {}, "ToolPolicyError", "permission"],
        [{ url: "http://8.8.8.8/", method: "POST" }, {}, "ToolPolicyError", "permission"],
        [{ url: "nonsense" }, {}, "ToolUserError", "invalid_args"],
        [
          { url: "http://a.example/" },
          { resolve: () => Promise.reject(new Error("canary")) },
          "ToolUserError",
          "not_found"
        ],
        [
          { url: "http://127.0.0.1:1/" },
          { ports: [1], allow_ranges: ["127.0.0.0/8"] },
          "ToolTransientError",
          "network"
        ]
      ] as const) {
        const error = yield* failure(use(options, args))
        assert.deepStrictEqual([error._tag, error.kind], [tag, kind])
        assert.notInclude(error.message, "canary")
      }
    })
  )
})
