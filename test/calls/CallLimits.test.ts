/** What a direct call never sends and how much of an answer it reads. */
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { configured, endpointOf, platform, runBody } from "./Platform.ts"
import { web } from "./Web.ts"

const reading = (name: string): ToolConfig => ({
  kind: "callback",
  name,
  call: { method: "GET", path: `/api/${name}` }
})

const errorOf = (error: unknown): ToolError => error as ToolError

describe("a direct call", () => {
  it.live("AG-08 AG-64 is not sent with an authorization that no header can have", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      for (const value of ["ApiKey canary\r\nx-more: 1", "", "é", "x".repeat(8_001)]) {
        const [tool] = yield* configured(web, [reading("it")], {
          callback: { endpoint: endpointOf(web), authorization: () => Redacted.make(value) }
        })
        const error = errorOf(yield* Effect.flip(runBody(tool, {})))
        assert.deepInclude(error, { _tag: "ToolPolicyError", reason: "NO_AUTHORIZATION" })
        assert.notInclude(JSON.stringify(error), "canary")
      }
      assert.lengthOf(web.seen, 0)
    })
  )

  it.live("AG-08 has an authorization of its own where its run is not known, as in a worker", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      let asked = 0
      const [tool] = yield* configured(web, [reading("it")], {
        callback: { endpoint: endpointOf(web), authorization: () => `ApiKey ${++asked}` }
      })
      const run = "" as RunId
      for (let turn = 0; turn < 2; turn++) yield* runBody(tool, {}, { run })
      assert.deepStrictEqual(
        web.seen.map(({ headers }) => headers["authorization"]),
        ["ApiKey 1", "ApiKey 2"]
      )
    })
  )

  it.live("AG-11 AG-41 shows its authorization in no form in which an answer may quote it", () =>
    Effect.gen(function* () {
      const basic = Buffer.from("canary-user:canary=pass").toString("base64")
      for (const [authorization, quoted] of [
        [`Basic ${basic}`, ["canary-user:canary=pass", "canary=pass", "canary%3Dpass", basic]],
        ["ApiKey canary+key/1=", ["canary+key/1=", encodeURIComponent("canary+key/1=")]]
      ] as const) {
        for (const status of [200, 422]) {
          const body = JSON.stringify({ detail: quoted.map((each) => `it was ${each}.`) })
          const web = yield* platform(() => ({ status, body }))
          const [tool] = yield* configured(web, [reading("it")], {
            callback: { endpoint: endpointOf(web), authorization }
          })
          const said = JSON.stringify(yield* Effect.result(runBody(tool, {})))
          assert.include(said, "it was [secret].")
          for (const each of ["canary", basic]) assert.notInclude(said, each)
        }
      }
    })
  )

  it.live("AG-23 AG-64 has a URL of at most 8,000 characters", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const [tool] = yield* configured(web, [reading("it")])
      const error = errorOf(yield* Effect.flip(runBody(tool, { q: "x".repeat(8_000) })))
      assert.deepInclude(error, { _tag: "ToolUserError", reason: "QUERY_TOO_LONG" })
      assert.lengthOf(web.seen, 0)
      yield* runBody(tool, { q: "x".repeat(7_500) })
      assert.lengthOf(web.seen, 1)
    })
  )

  it.live("AG-24 has no key of its dispatch where it is a GET", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const [tool] = yield* configured(web, [reading("it")])
      yield* runBody(tool, {}, { key: "k-1" })
      assert.isUndefined(web.seen[0]?.headers["idempotency-key"])
    })
  )

  it.live("AG-11 reads no more than 32,768 bytes of an answer's headers", () =>
    Effect.gen(function* () {
      const web = yield* platform(({ url }) => ({
        headers: { "x-long": "x".repeat(url === "/api/fits" ? 30_000 : 40_000) },
        body: '"read"'
      }))
      const [fits, longer] = yield* configured(web, [reading("fits"), reading("longer")])
      assert.strictEqual(yield* runBody(fits, {}), "read")
      const error = errorOf(yield* Effect.flip(runBody(longer, {})))
      assert.deepInclude(error, { reason: "CALL_NETWORK", message: "direct tool call failed" })
    })
  )

  it.live("reads an answer in each encoding, and fails where it breaks off", () =>
    Effect.gen(function* () {
      const plain = JSON.stringify({ read: "x".repeat(10_000) })
      const packed = {
        gzip: gzipSync(plain),
        deflate: deflateSync(plain),
        br: brotliCompressSync(plain),
        identity: Buffer.from(plain)
      }
      const server = yield* web(({ url }, response) => {
        const [, encoding = "", end] = url.slice(1).split("/")
        const bytes = packed[encoding as keyof typeof packed]
        response.writeHead(200, {
          "content-encoding": encoding,
          "content-length": bytes.length,
          "content-type": "application/json"
        })
        if (end === "whole") return void response.end(bytes)
        response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy())
        return undefined
      })
      const get = (path: string) =>
        Effect.gen(function* () {
          const call = { method: "GET", path: `/api/${path}` } as const
          const [tool] = yield* configured(server, [{ kind: "callback", name: "it", call }])
          return yield* runBody(tool, {})
        })
      for (const encoding of Object.keys(packed)) {
        assert.strictEqual(JSON.stringify(yield* get(`${encoding}/whole`)), plain, encoding)
        const error = errorOf(yield* Effect.flip(get(`${encoding}/half`)))
        assert.strictEqual(error.reason, "CALL_NETWORK", encoding)
      }
    })
  )

  it.live("reads an answer in the character set that it names", () =>
    Effect.gen(function* () {
      const bodies = {
        "text/plain; charset=ISO-8859-1": Buffer.from("h\xe9llo", "latin1"),
        'application/json; charset="utf-16le"': Buffer.from('"héllo"', "utf16le"),
        "text/plain; charset=unknown": Buffer.from("héllo")
      }
      for (const [type, bytes] of Object.entries(bodies)) {
        const server = yield* web((_, response) => {
          response.writeHead(200, { "content-type": type })
          response.end(bytes)
        })
        const [tool] = yield* configured(server, [reading("it")])
        assert.strictEqual(yield* runBody(tool, {}), "héllo", type)
      }
    }).pipe(Effect.scoped)
  )

  it.live("takes an empty answer that says it is compressed", () =>
    Effect.gen(function* () {
      const headers = { "content-encoding": "gzip", "content-length": "0" }
      const web = yield* platform(() => ({ status: 202, headers, body: "" }))
      const [tool] = yield* configured(web, [reading("it")])
      assert.strictEqual(yield* runBody(tool, {}), "")
    }).pipe(Effect.scoped)
  )

  it.live("is told when it may be sent again", () =>
    Effect.gen(function* () {
      const past = "Wed, 21 Oct 2015 07:28:00 GMT"
      const far = "Wed, 21 Oct 2099 07:28:00 GMT"
      const said = ["7", "999999", "soon", "-1", "2026", past, far]
      const answering = { at: 0 }
      const web = yield* platform(() => ({
        status: 429,
        headers: { "retry-after": said[answering.at++] ?? "" }
      }))
      const [tool] = yield* configured(web, [reading("it")])
      const found: Array<unknown> = []
      for (const _ of said) {
        const error = errorOf(yield* Effect.flip(runBody(tool, {})))
        found.push("retry_after_ms" in error ? error.retry_after_ms : undefined)
      }
      const day_ms = 86_400_000
      assert.deepStrictEqual(found, [7_000, day_ms, undefined, undefined, 2_026_000, 0, day_ms])
    })
  )

  it.live("AG-16 is known by the digest of its target where that is long", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const targetOf = (fixed: string) =>
        Effect.map(
          configured(web, [
            {
              kind: "callback",
              name: "it",
              call: { method: "POST", path: "/api/it", body: { fixed } }
            }
          ]),
          ([tool]) => tool?.target
        )
      assert.include(JSON.stringify(yield* targetOf("short")), "short")
      const [one, other] = [yield* targetOf("x".repeat(5_000)), yield* targetOf("x".repeat(5_001))]
      assert.match(JSON.stringify(one), /^\{"sha256":"[0-9a-f]{64}"\}$/)
      assert.notDeepEqual(one, other)
    })
  )
})
