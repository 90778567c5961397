import { assert, describe, it } from "@effect/vitest"
import type { ServerResponse } from "node:http"
import { Effect, Redacted } from "effect"
import { isToolError } from "../../src/error/ToolError.ts"
import type { McpAsked, McpHttpServer } from "../../src/mcp/McpServer.ts"
import { serverRefusalOf } from "../../src/mcp/McpServer.ts"
import * as S from "./Servers.ts"
import { at, reply, small } from "./SmallServer.ts"

/** Tells a caller which authorization it sent. */
const mirror = Effect.fnUntraced(function* (accepts: (authorization: string) => boolean) {
  return yield* small(
    ({ authorization }, response, { id }) =>
      reply(response, id, { content: [{ type: "text", text: `you sent ${authorization}` }] }),
    {
      instead: ({ headers: { authorization = "" } }, response) => {
        if (accepts(authorization)) return false
        response.writeHead(401).end()
        return true
      }
    }
  )
})

const look = (server: McpHttpServer) =>
  S.callBody("web.look@1").pipe(Effect.provide(S.importing(server)))

const reasonOf = (error: unknown) => (isToolError(error) ? error.reason : error)

describe("credentials that a function gives", () => {
  it.live("are asked for with each request, and once more for one that was refused", () =>
    Effect.gen(function* () {
      let valid = "Bearer canary-1"
      const { port } = yield* mirror((authorization) => authorization === valid)
      const asked: Array<boolean> = []
      let version = 1
      const token = ({ refused }: McpAsked) => {
        asked.push(refused)
        if (refused) version++
        return Promise.resolve(`canary-${version}`)
      }
      yield* Effect.gen(function* () {
        assert.strictEqual(yield* S.callBody("web.look@1"), "you sent Bearer [secret]")
        assert.notInclude(asked, true)
        valid = "Bearer canary-2"
        assert.strictEqual(yield* S.callBody("web.look@1"), "you sent Bearer [secret]")
        assert.strictEqual(asked.filter((refused) => refused).length, 1)
        valid = "Bearer nothing"
        const error = yield* Effect.flip(S.callBody("web.look@1"))
        assert.strictEqual(reasonOf(error), "MCP_FORBIDDEN")
      }).pipe(Effect.provide(S.importing(at(port, { token }))))
    }).pipe(Effect.scoped)
  )

  it.live("may be headers, and none are sent where they cannot be had", () =>
    Effect.gen(function* () {
      const { asked, port } = yield* mirror(() => true)
      let isBroken = false
      const headers = () => {
        if (isBroken) throw new Error("the vault is sealed: canary-4711")
        return { authorization: Redacted.make("Key canary-4711"), "x-team": "blue" }
      }
      yield* Effect.gen(function* () {
        assert.strictEqual(yield* S.callBody("web.look@1"), "you sent [secret]")
        isBroken = true
        const before = asked.length
        const error = yield* Effect.flip(S.callBody("web.look@1"))
        assert.strictEqual(reasonOf(error), "MCP_NO_CREDENTIALS")
        assert.notInclude(String(error), "canary")
        assert.lengthOf(asked, before)
      }).pipe(Effect.provide(S.importing(at(port, { headers }))))
    }).pipe(Effect.scoped)
  )
})

/** An authorization server and a server of tools that takes only its newest token. */
const hosted = Effect.fnUntraced(function* () {
  const requests: Array<{ readonly authorization: string | undefined; readonly body: string }> = []
  let issued = 0
  const json = (response: ServerResponse, value: unknown) => {
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify(value))
  }
  const made = yield* small(
    ({ authorization }, response, { id }) =>
      reply(response, id, { content: [{ type: "text", text: `you sent ${authorization}` }] }),
    {
      instead: ({ headers, url = "" }, response, body) => {
        const issuer = `http://${headers.host}`
        if (url.startsWith("/.well-known/oauth-protected-resource")) {
          json(response, { resource: `${issuer}/mcp`, authorization_servers: [issuer] })
        } else if (url.startsWith("/.well-known/")) {
          json(response, {
            issuer,
            authorization_endpoint: `${issuer}/authorize`,
            token_endpoint: `${issuer}/token`,
            response_types_supported: ["code"],
            token_endpoint_auth_methods_supported: ["client_secret_basic", "none"]
          })
        } else if (url === "/token") {
          requests.push({ authorization: headers.authorization, body })
          issued++
          json(response, {
            access_token: `access-${issued}`,
            token_type: "Bearer",
            refresh_token: `refresh-${issued}`
          })
        } else if (headers.authorization !== `Bearer access-${issued}` || issued === 0) {
          response.writeHead(401).end()
        } else return false
        return true
      }
    }
  )
  const issuer = `http://127.0.0.1:${made.port}`
  return { ...made, issuer, requests, expire: () => void issued++ }
})

describe("OAuth of a hosted server", () => {
  it.live("has the client's own credentials exchanged, and again when the token is refused", () =>
    Effect.gen(function* () {
      const { expire, issuer, port, requests } = yield* hosted()
      const client_secret = Redacted.make("canary-secret")
      const oauth = { issuer, client_id: "troupe", client_secret, scope: "tools" }
      yield* Effect.gen(function* () {
        assert.strictEqual(yield* S.callBody("web.look@1"), "you sent Bearer [secret]")
        expire()
        assert.strictEqual(yield* S.callBody("web.look@1"), "you sent Bearer [secret]")
      }).pipe(Effect.provide(S.importing(at(port, { oauth }))))
      assert.lengthOf(requests, 2)
      const [{ authorization, body } = { authorization: "", body: "" }] = requests
      assert.strictEqual(authorization, `Basic ${btoa("troupe:canary-secret")}`)
      const sent = Object.fromEntries(new URLSearchParams(body))
      assert.deepInclude(sent, { grant_type: "client_credentials", scope: "tools" })
    }).pipe(Effect.scoped)
  )

  it.live("has a stored refresh token spent once, and each new one stored", () =>
    Effect.gen(function* () {
      const { expire, issuer, port, requests } = yield* hosted()
      let stored = "refresh-0"
      // The address of a client metadata document is a client id like others.
      const client_id = "https://shop.example/oauth/client.json"
      const refresh = {
        load: () => Promise.resolve(Redacted.make(stored)),
        save: (token: Redacted.Redacted) => void (stored = Redacted.value(token))
      }
      yield* Effect.gen(function* () {
        yield* S.callBody("web.look@1")
        expire()
        const calls = Array.from({ length: 4 }, () => S.callBody("web.look@1"))
        yield* Effect.all(calls, { concurrency: 4 })
      }).pipe(Effect.provide(S.importing(at(port, { oauth: { issuer, client_id, refresh } }))))
      const clients = requests.map(({ body }) => new URLSearchParams(body).get("client_id"))
      assert.deepStrictEqual(new Set(clients), new Set([client_id]))
      const spent = requests.map(({ body }) => new URLSearchParams(body).get("refresh_token"))
      assert.deepStrictEqual(spent.slice(0, 2), ["refresh-0", "refresh-1"])
      assert.strictEqual(new Set(spent).size, spent.length)
      assert.strictEqual(stored, `refresh-${requests.length + 1}`)
    }).pipe(Effect.scoped)
  )

  it.live("gives the client's secret to no other authorization server than the declared one", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* hosted()
      const other = yield* hosted()
      const client_secret = Redacted.make("canary-secret")
      const oauth = { issuer: other.issuer, client_id: "troupe", client_secret }
      const error = yield* Effect.flip(
        look(at(port, { oauth, optional: false, connect_timeout_ms: 5_000 }))
      )
      assert.deepInclude(error, { _tag: "McpServerUnavailable" })
      assert.lengthOf([...requests, ...other.requests], 0)
    }).pipe(Effect.scoped)
  )

  it("is refused with a token beside it, without a secret, and with an issuer that may not be reached", () => {
    const url = "https://mcp.example/mcp"
    const server: McpHttpServer = { namespace: "web", transport: "http", url }
    const client_secret = Redacted.make("canary-secret")
    const fields = (more: Partial<McpHttpServer>, hosts?: ReadonlyArray<string>) =>
      serverRefusalOf({ ...server, ...more }, hosts === undefined ? {} : { hosts })?.field
    const oauth = { issuer: "https://login.example", client_id: "troupe", client_secret }
    assert.strictEqual(fields({ oauth }), undefined)
    assert.strictEqual(fields({ oauth, token: client_secret }), "oauth")
    assert.strictEqual(fields({ oauth: { issuer: oauth.issuer, client_id: "troupe" } }), "oauth")
    for (const issuer of ["http://login.example", "https://169.254.169.254", "login"]) {
      assert.strictEqual(fields({ oauth: { ...oauth, issuer } }), "issuer")
    }
    assert.strictEqual(fields({ oauth }, ["mcp.example"]), "issuer")
  })
})
