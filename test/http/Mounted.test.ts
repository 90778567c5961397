/** The API of a service that `start` starts: on a port, in a server of the application's, and for Web requests. */
import { createHash } from "node:crypto"
import { once } from "node:events"
import type { Server } from "node:http"
import { createServer } from "node:http"
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { serve } from "@hono/node-server"
import { Redacted } from "effect"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Http } from "../../layers/compose/entries/Embed.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"

const agent = (name: string) =>
  AgentSpec.make({ name: AgentName.make(name), instructions: "Help." })
const principal = (id: string, ...roles: ReadonlyArray<Role>) =>
  new Principal({ id, tenant: Tenant.make("acme"), roles })
const olga = { token: "a-token-of-olgas", principal: principal("olga", "operator") }
const carl = { token: "a-token-of-carls", principal: principal("carl", "customer") }

/** Half a megabyte of answer, which a reader that reads nothing leaves in memory. */
const long = "x".repeat(500_000)

const started = (http?: Http): Promise<NodeService> =>
  start({
    agents: [agent("shop"), agent("back-office")],
    model: scripted(({ transcript }) =>
      text(JSON.stringify(transcript).includes("long") ? long : "Good morning.")
    ),
    customer_agents: ["shop"],
    ...(http === undefined ? undefined : { http })
  })

const using = async (http: Http | undefined, use: (troupe: NodeService) => Promise<void>) => {
  const troupe = await started(http)
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

type Fetch = (path: string, init?: RequestInit) => Promise<Response>

const to =
  (url: string): Fetch =>
  (path, init) =>
    fetch(url + path, init)

/** Web requests as a framework makes them, for the host that its client named. */
const web =
  ({ handler }: NodeService, host = "localhost"): Fetch =>
  (path, init) =>
    handler(new Request(`http://${host}${path}`, init))

const headersOf = (token: string) => ({
  authorization: `Bearer ${token}`,
  "content-type": "application/json"
})

const send = (api: Fetch, { token = olga.token, agent = "shop", text = "Hello" } = {}) =>
  api("/v1/messages", {
    method: "POST",
    headers: headersOf(token),
    body: JSON.stringify({ agent, text })
  })

/** What an event stream says until the run has ended. */
const readToEnd = async (api: Fetch, conversation: string): Promise<string> => {
  const { body, status } = await api(`/v1/conversations/${conversation}/events`, {
    headers: headersOf(olga.token)
  })
  assert.strictEqual(status, 200)
  let said = ""
  for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
    said += piece
    if (said.includes("RunEnded")) break
  }
  return said
}

const conversationOf = async (answer: Response): Promise<string> => {
  assert.strictEqual(answer.status, 202)
  return ((await answer.json()) as { readonly conversation_id: string }).conversation_id
}

const isGone = async (api: Fetch): Promise<void> => {
  const { headers, status } = await send(api)
  assert.strictEqual(status, 503)
  assert.strictEqual(headers.get("content-type"), "application/problem+json")
}

/** What a client finds, wherever the API is. */
const isServed = async (api: Fetch): Promise<void> => {
  const conversation = await conversationOf(await send(api))
  assert.include(await readToEnd(api, conversation), "Good morning.")
  assert.strictEqual((await send(api, { token: "a-token-of-nobody" })).status, 401)
  assert.strictEqual((await send(api, { token: carl.token })).status, 202)
  assert.strictEqual((await send(api, { token: carl.token, agent: "back-office" })).status, 403)
  assert.strictEqual((await api("/V1/runs", { headers: headersOf(olga.token) })).status, 404)
  const body = JSON.stringify({ agent: "shop", text: "x".repeat(2_000_000) })
  const options = { method: "POST", headers: headersOf(olga.token) }
  assert.strictEqual((await api("/v1/messages", { ...options, body })).status, 413)
}

const tokens = [olga, carl]

const isAlreadyRead = async (answer: Response): Promise<void> => {
  assert.strictEqual(answer.status, 500)
  assert.include(await answer.text(), "body-already-read")
}

const listening = async (server: Server, use: (api: Fetch) => Promise<void>): Promise<void> => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  try {
    await use(to(`http://localhost:${(server.address() as AddressInfo).port}`))
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe("the API of a service, in a framework", () => {
  it("is served by Express, under a path of its own, beside a body parser", () =>
    using({ tokens }, async (troupe) => {
      const app = express().use("/agents", troupe.nodeListener).use(express.json())
      app.post("/orders", (request, response) => void response.json(request.body))
      await listening(createServer(app), async (api) => {
        await isServed((path, init) => api(`/agents${path}`, init))
        const order = { method: "POST", headers: headersOf(""), body: '{"order":1}' }
        assert.strictEqual(await (await api("/orders", order)).text(), '{"order":1}')
      })
    }))

  it("keeps the headers that a middleware before it sets, such as those of CORS", () =>
    using({ tokens }, async (troupe) => {
      const origin = "https://shop.example.com"
      const app = express().use((_request, response, next) => {
        response.setHeader("access-control-allow-origin", origin)
        next()
      })
      app.use(troupe.nodeListener)
      await listening(createServer(app), async (api) => {
        const sent = await send(api)
        const events = await api(`/v1/conversations/${await conversationOf(sent)}/events`, {
          headers: headersOf(olga.token)
        })
        await events.body?.cancel()
        const refused = await send(api, { token: "a-token-of-nobody" })
        for (const { headers } of [sent, events, refused]) {
          assert.strictEqual(headers.get("access-control-allow-origin"), origin)
        }
      })
    }))

  it("is served by Fastify, in a context that leaves bodies alone", () =>
    using({ tokens }, async (troupe) => {
      const app = fastify()
      await app.register((api) => {
        api.removeAllContentTypeParsers()
        api.addContentTypeParser("*", (_request, _payload, done) => done(null))
        api.all("/*", (request, reply) => {
          reply.hijack()
          troupe.nodeListener(request.raw, reply.raw)
        })
        return Promise.resolve()
      })
      const api = to((await app.listen({ port: 0 })).replace("127.0.0.1", "localhost"))
      await isServed(api)
      app.server.closeAllConnections()
      await app.close()
    }))

  it("is served by Hono, over a socket", () =>
    using({ tokens }, async (troupe) => {
      const app = new Hono().all("/*", (context) => troupe.handler(context.req.raw))
      const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server
      await once(server, "listening")
      try {
        await isServed(to(`http://localhost:${(server.address() as AddressInfo).port}`))
      } finally {
        server.closeAllConnections()
        server.close()
      }
    }))
})

describe("the API of a service", () => {
  it("is served on a port, whose address the service says, until it stops", async () => {
    const troupe = await started({ port: 0, tokens })
    const url = troupe.url ?? ""
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
    await isServed(to(url))
    await troupe.stop()
    const refused = await send(to(url)).catch((error: unknown) => error)
    assert.instanceOf(refused, TypeError)
  })

  it("is mounted in a server of node:http, and answers 503 once the service has stopped", async () => {
    const troupe = await started({ tokens })
    const server = createServer(troupe.nodeListener).listen(0, "127.0.0.1")
    await once(server, "listening")
    try {
      assert.isUndefined(troupe.url)
      const { port } = server.address() as AddressInfo
      const api = to(`http://localhost:${port}`)
      await isServed(api)
      await troupe.stop()
      await isGone(api)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it("answers Web requests, and 503 once the service has stopped", async () => {
    const troupe = await started({ tokens })
    await isServed(web(troupe))
    await troupe.stop()
    await isGone(web(troupe))
  })

  it("is there in all three ways at the same time", () =>
    using({ port: 0, tokens }, async (troupe) => {
      const conversation = await conversationOf(await send(to(troupe.url!)))
      assert.include(await readToEnd(web(troupe), conversation), "Good morning.")
    }))

  it("answers Web requests for the hosts that it was given, and for localhost, and for no other", async () => {
    await using({ tokens }, async (troupe) => {
      assert.strictEqual((await send(web(troupe, "shop.example.org"))).status, 421)
    })
    await using({ tokens, settings: { hosts: ["shop.example.org"] } }, async (troupe) => {
      assert.strictEqual((await send(web(troupe, "shop.example.org:8443"))).status, 202)
      assert.strictEqual((await send(web(troupe, "localhost:3000"))).status, 202)
      assert.strictEqual((await send(web(troupe, "evil.example.org"))).status, 421)
    })
  })

  it("counts the methods of Web requests that are none as one", () =>
    using({ tokens, settings: { metrics_open: true } }, async (troupe) => {
      const api = web(troupe)
      for (const method of ["FIRST", "SECOND"]) {
        assert.strictEqual((await api("/v1/runs", { method })).status, 405)
      }
      const metrics = await (await api("/metrics")).text()
      assert.match(metrics, /^troupe_http_requests_total\{method="_OTHER",status="405"\} \d+$/m)
      assert.notMatch(metrics, /FIRST|SECOND/)
    }))

  it("ends an event stream of a Web request whose reader left too much unread", () =>
    using({ tokens, settings: { unread_units_max: 600_000 } }, async (troupe) => {
      const api = web(troupe)
      /** Reads up to the first event: the next one, of half a megabyte, then waits to be read. */
      const open = async () => {
        const conversation = await conversationOf(await send(api, { text: "long" }))
        await readToEnd(api, conversation)
        const { body } = await api(`/v1/conversations/${conversation}/events`, {
          headers: headersOf(olga.token)
        })
        const reader = body!.getReader()
        for (let said = ""; !said.includes("RunAccepted");) {
          said += Buffer.from((await reader.read()).value ?? []).toString()
        }
        return reader
      }
      const slow = await open()
      const other = await open()
      // The stream of a conversation does not end by itself.
      while (!(await slow.read()).done);
      await other.cancel()
    }))

  it("is not there for a service that was started without it, which says so", () =>
    using(undefined, async (troupe) => {
      assert.isUndefined(troupe.url)
      const refused = await send(web(troupe)).catch((error: unknown) => error)
      assert.deepInclude(refused, { _tag: "InvalidInput", field: "http" })
      assert.throws(() => troupe.nodeListener(undefined as never, undefined as never), /tokens/)
    }))

  it("takes by its types what node:http gives, and nothing else", () =>
    using({ tokens: [olga] }, async ({ nodeListener: listener }) => {
      const one: Parameters<typeof createServer>[1] = listener
      // @ts-expect-error -- HTTP/2 is no HTTP/1.1.
      const two: (request: Http2ServerRequest, response: Http2ServerResponse) => void = listener
      // @ts-expect-error -- Web requests have a handler of their own.
      const web: (request: Request, response: Response) => void = listener
      assert.strictEqual(one, listener)
      assert.deepStrictEqual([two, web], [listener, listener])
    }))

  it("takes a token that is Redacted, or its digest", () => {
    const sha256 = createHash("sha256").update(olga.token).digest("hex")
    const redacted = { ...carl, token: Redacted.make(carl.token) }
    return using({ tokens: [{ sha256, principal: olga.principal }, redacted] }, (troupe) =>
      isServed(web(troupe))
    )
  })

  it("says that a body was read before it, instead of taking it for an empty one", () =>
    using({ tokens }, async (troupe) => {
      const app = express().use(express.json()).use(troupe.nodeListener)
      await listening(createServer(app), async (api) => {
        await isAlreadyRead(await send(api))
        // A request without a body has nothing that could be read.
        const runs = await api("/v1/runs", { headers: headersOf(olga.token) })
        assert.strictEqual(runs.status, 200)
      })
      const request = new Request("http://localhost/v1/messages", {
        method: "POST",
        headers: headersOf(olga.token),
        body: JSON.stringify({ agent: "shop", text: "Hello" })
      })
      await request.text()
      await isAlreadyRead(await troupe.handler(request))
    }))

  it("says where it cannot listen, and why", () =>
    using({ port: 0, tokens }, async ({ url }) => {
      const port = Number(new URL(url ?? "").port)
      const refused = await started({ port, tokens }).catch((error: unknown) => error)
      assert.deepInclude(refused, {
        _tag: "ListenFailed",
        host: "127.0.0.1",
        port,
        code: "EADDRINUSE"
      })
      assert.include(
        String(refused),
        `cannot listen at 127.0.0.1:${port}: another process listens there`
      )
      const other = await started({ port: 0, host: "203.0.113.7", tokens }).catch(
        (error: unknown) => error
      )
      assert.deepInclude(other, { _tag: "ListenFailed", code: "EADDRNOTAVAIL" })
    }))

  const { principal: boss } = olga
  const wrong: ReadonlyArray<readonly [field: string, http: unknown]> = [
    ["http", "8080"],
    ["http.tokens", { port: 0 }],
    ["http.tokens.0", { tokens: [{ principal: boss }] }],
    ["http.tokens.0", { tokens: [{ token: "short", principal: boss }] }],
    [
      "http.tokens.0",
      { tokens: [{ token: olga.token, sha256: "ab".repeat(32), principal: boss }] }
    ],
    ["http.tokens.0.sha256", { tokens: [{ sha256: "abc", principal: boss }] }],
    ["http.tokens.0.principal", { tokens: [{ token: olga.token, principal: "olga" }] }],
    ["http.tokens.1.sha256", { tokens: [olga, olga] }],
    ["http.port", { port: 65_536, tokens }],
    ["http.port", { port: "8080", tokens }],
    ["http.host", { port: 0, host: "", tokens }],
    ["http.https", { port: 0, tokens, https: true }],
    ["http.settings", { tokens, settings: [] }],
    ["http.settings.streams_max", { tokens, settings: { streams_max: 0 } }],
    ["http.settings.customer_agents", { tokens, settings: { customer_agents: ["shop"] } }]
  ]
  it.each(wrong)("names %s where it is %j, and never quotes a token", async (field, http) => {
    const refused = await started(http as Http).catch((error: unknown) => error)
    assert.deepInclude(refused, { _tag: "InvalidInput", field })
    assert.notMatch(String(refused), /short|a-token/)
  })
})
