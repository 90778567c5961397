/** Calls over TLS: the name of the URL has to be in a trusted certificate, whatever address was dialled. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as GuardedFetch from "../../layers/calls/GuardedFetch.ts"
import { secureWeb } from "./Certificate.ts"
import { configured, runBody } from "./Platform.ts"
import { names, web } from "./Web.ts"

const host = "platform.example"
const tools = [{ type: "platform", op: "query_workflows" }] as const

describe("a call over TLS", () => {
  it.live("AG-05 AG-08 is sent to nobody but who has a trusted certificate of the platform", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const server = yield* secureWeb(host, ({ headers }, response) => {
        seen.push(headers.authorization)
        response.end("{}")
      })
      const { resolve } = names({ [host]: ["127.0.0.1"], "other.example": ["127.0.0.1"] })
      const toolAt = (name: string, ca?: string) =>
        Effect.map(
          configured(server, tools, {
            callback: {
              endpoint: `https://${name}:${server.port}/api/tools/call`,
              authorization: "ApiKey canary"
            },
            resolve,
            ...(ca === undefined ? undefined : { ca })
          }),
          ([tool]) => tool
        )
      const other = yield* secureWeb("other.example", () => {})
      for (const [name, ca] of [
        [host, undefined],
        [host, other.cert],
        ["other.example", server.cert]
      ] as const) {
        const error = yield* Effect.flip(runBody(yield* toolAt(name, ca), {}))
        // Of the kind of failures before anything was sent: it leaves no outcome open.
        assert.deepInclude(error, {
          kind: "external",
          reason: "CALL_NETWORK",
          message: "direct tool call failed"
        })
      }
      assert.lengthOf(seen, 0)
      assert.strictEqual(server.received.bytes, 0)
      yield* runBody(yield* toolAt(host, server.cert), {})
      assert.deepStrictEqual(seen, ["ApiKey canary"])
      assert.isAbove(server.received.bytes, 0)
    })
  )

  it.live("leaves its outcome open where it breaks off after the handshake", () =>
    Effect.gen(function* () {
      const server = yield* secureWeb(host, ({ socket }) => void socket.destroy())
      const [tool] = yield* configured(server, tools, {
        callback: { endpoint: `https://${host}:${server.port}/api/tools/call` },
        resolve: names({ [host]: ["127.0.0.1"] }).resolve,
        ca: server.cert
      })
      const error = yield* Effect.flip(runBody(tool, {}))
      assert.deepInclude(error, { kind: "network", reason: "CALL_NETWORK" })
    })
  )

  it.live("is not continued without TLS by a redirect", () =>
    Effect.gen(function* () {
      const open = yield* web((_, response) => response.end("open"))
      const server = yield* secureWeb(host, ({ url }, response) => {
        const to = url === "/open" ? `http://${host}:${open.port}/` : "/end"
        response.writeHead(url === "/end" ? 200 : 302, { location: to }).end("end")
      })
      const guard = yield* GuardedFetch.make("test", {
        ports: [server.port, open.port],
        allow_ranges: ["127.0.0.1/32"],
        resolve: names({ [host]: ["127.0.0.1"] }).resolve,
        ca: server.cert
      })
      const get = (path: string) =>
        guard.fetch({
          url: `https://${host}:${server.port}${path}`,
          method: "GET",
          headers: {},
          body: undefined
        })
      assert.strictEqual((yield* get("/here")).status, 200)
      const { reason } = yield* Effect.flip(get("/open"))
      assert.strictEqual(reason, "redirect")
      assert.strictEqual(open.connections.made, 0)
    })
  )
})
