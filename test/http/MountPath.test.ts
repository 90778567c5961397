/** The API under a path of an application's router, which takes that path away or leaves it there. */
import { once } from "node:events"
import type { Server } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { serve } from "@hono/node-server"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Http } from "../../layers/compose/entries/Embed.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"

const olga = new Principal({ id: "olga", tenant: Tenant.make("acme"), roles: ["operator"] })
const carl = new Principal({ id: "carl", tenant: Tenant.make("acme"), roles: ["customer"] })
const tokens = [
  { token: "a-token-of-olgas", principal: olga },
  { token: "a-token-of-carls", principal: carl }
]

const started = (settings: Http["settings"]): Promise<NodeService> =>
  start({
    agents: [AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help." })],
    model: scripted(() => text("Good morning.")),
    customer_agents: ["shop"],
    http: { port: 0, tokens, ...(settings === undefined ? undefined : { settings }) }
  })

type Fetch = (path: string, init?: RequestInit) => Promise<Response>

const headersOf = (token = "a-token-of-olgas") => ({
  authorization: `Bearer ${token}`,
  "content-type": "application/json"
})
const reading = { headers: headersOf() }

const send = (api: Fetch, path: string, token?: string, parts?: ReadonlyArray<unknown>) =>
  api(path, {
    method: "POST",
    headers: headersOf(token),
    body: JSON.stringify({ agent: "shop", text: "Hello", parts })
  })

interface Upload {
  readonly type: string
  readonly digest: string
  readonly media_type: string
}

/** A file goes in by one route and comes out by another. */
const takesFiles = async (api: Fetch, base: string): Promise<void> => {
  const bytes = "a receipt"
  const up = await api(`${base}/v1/files?name=receipt.txt`, {
    method: "POST",
    headers: { ...headersOf(), "content-type": "text/plain" },
    body: bytes
  })
  assert.strictEqual(up.status, 201, await up.clone().text())
  const { digest, media_type, type } = (await up.json()) as Upload
  const sent = await send(api, `${base}/v1/messages`, undefined, [{ type, digest, media_type }])
  const { conversation_id } = (await sent.json()) as { readonly conversation_id: string }
  const down = await api(`${base}/v1/conversations/${conversation_id}/files/${digest}`, reading)
  assert.strictEqual(await down.text(), bytes)
}

/** The events of a conversation until its run has ended. */
const followsEvents = async (api: Fetch, conversation: string): Promise<void> => {
  const { body, headers } = await api(`${conversation}/events`, reading)
  assert.include(headers.get("content-type") ?? "", "text/event-stream")
  let said = ""
  for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
    said += piece
    if (said.includes("RunEnded")) break
  }
  assert.include(said, "Good morning.")
}

const problemAt = async (api: Fetch, path: string) => {
  const answer = await api(path, reading)
  assert.strictEqual(answer.status, 404)
  return (await answer.json()) as { readonly instance: string; readonly detail: string }
}

/** What a client finds under a path: links that it can follow, and one spelling. */
const isServedAt = async (api: Fetch, base: string): Promise<void> => {
  const sent = await send(api, `${base}/v1/messages`)
  const run = sent.headers.get("location") ?? ""
  assert.match(run, new RegExp(`^${base}/v1/runs/[^/]+$`))
  assert.strictEqual((await api(run, reading)).status, 200)
  const carls = await send(api, `${base}/v1/messages`, "a-token-of-carls")
  const conversation = carls.headers.get("location") ?? ""
  assert.match(conversation, new RegExp(`^${base}/v1/conversations/[^/]+$`))
  await followsEvents(api, conversation)
  await takesFiles(api, base)

  const { detail, instance } = await problemAt(api, `${base}/v1/nothing`)
  assert.strictEqual(instance, `${base}/v1/nothing`)
  assert.include(detail, `See ${base}/docs `)
  for (const path of ["/V1/runs", "//v1/runs", "/v1/runs/"]) {
    assert.include((await problemAt(api, base + path)).detail, "one spelling")
  }
  const unknown = await api(`${base}/v1/runs?colour=red`, reading)
  assert.strictEqual(unknown.status, 400)
}

/** Documents that say where the API is. */
const isDocumentedAt = async (api: Fetch, base: string): Promise<void> => {
  const document = (await (await api(`${base}/openapi.json`)).json()) as {
    readonly servers?: ReadonlyArray<{ readonly url: string }>
  }
  assert.deepStrictEqual(document.servers, [{ url: base }])
  const page = await api(`${base}/docs`)
  assert.include(await page.text(), `"servers":[{"url":"${base}"}]`)
}

const at = (server: Server): Fetch => {
  const { port } = server.address() as AddressInfo
  return (path, init) => fetch(`http://localhost:${port}${path}`, init)
}

const listening = async (server: Server, use: (api: Fetch) => Promise<void>): Promise<void> => {
  if (!server.listening) {
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
  }
  try {
    await use(at(server))
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const using = async (
  settings: Http["settings"],
  use: (troupe: NodeService) => Promise<void>
): Promise<void> => {
  const troupe = await started(settings)
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

/** With the path in the settings. */
const based = (base_path: string, use: (troupe: NodeService) => Promise<void>) =>
  using({ base_path }, use)

describe("the API under a path of a router", () => {
  it("is found there by its links in Express, which takes the path away and says so", () =>
    using(undefined, ({ nodeListener }) =>
      listening(createServer(express().use("/agents", nodeListener)), (api) =>
        isServedAt(api, "/agents")
      )
    ))

  it("is found there in Express by its documents too, where the settings name the path", () =>
    based("/shop/agents", ({ nodeListener }) => {
      const router = express.Router().use("/agents", nodeListener)
      return listening(createServer(express().use("/shop", router)), async (api) => {
        await isServedAt(api, "/shop/agents")
        await isDocumentedAt(api, "/shop/agents")
        // Once is enough.
        await problemAt(api, "/shop/agents/shop/agents/v1/runs")
      })
    }))

  it("is found where a router of Express took away one part and left another", () =>
    based("/shop/agents", ({ nodeListener }) => {
      const router = express.Router().all("/agents/*rest", nodeListener)
      return listening(createServer(express().use("/shop", router)), (api) =>
        isServedAt(api, "/shop/agents")
      )
    }))

  it("is found there in Fastify, which leaves the path", () =>
    based("/agents", async ({ nodeListener }) => {
      const app = fastify()
      await app.register(
        (api) => {
          api.removeAllContentTypeParsers()
          api.addContentTypeParser("*", (_request, _payload, done) => done(null))
          api.all("/*", (request, reply) => {
            reply.hijack()
            nodeListener(request.raw, reply.raw)
          })
          return Promise.resolve()
        },
        { prefix: "/agents" }
      )
      await app.listen({ port: 0, host: "127.0.0.1" })
      await listening(app.server, async (api) => {
        await isServedAt(api, "/agents")
        await isDocumentedAt(api, "/agents")
      })
      await app.close()
    }))

  it.each([
    [
      "mount, which takes the path away",
      (app: Hono, { handler }: NodeService) => app.mount("/agents", handler)
    ],
    [
      "a route, which leaves the path",
      (app: Hono, { handler }: NodeService) =>
        app.all("/agents/*", (context) => handler(context.req.raw))
    ]
  ] as const)("is found there in Hono by %s", (_, mount) =>
    based("/agents", async (troupe) => {
      const { fetch } = mount(new Hono(), troupe)
      const server = serve({ fetch, port: 0, hostname: "127.0.0.1" }) as Server
      await once(server, "listening")
      await listening(server, async (api) => {
        await isServedAt(api, "/agents")
        await isDocumentedAt(api, "/agents")
      })
    })
  )

  it("is found there by Web requests, as a route of Next.js has them", () =>
    based("/api/agents", async ({ handler }) => {
      const api: Fetch = (path, init) => handler(new Request(`http://localhost:3000${path}`, init))
      await isServedAt(api, "/api/agents")
      await isDocumentedAt(api, "/api/agents")
      const other = await handler(
        new Request("http://evil.example.org/api/agents/v1/runs", reading)
      )
      assert.strictEqual(other.status, 421)
    }))

  it("is found on its own port with the path and without it, as a proxy has it", () =>
    based("/agents", async ({ url }) => {
      const api: Fetch = (path, init) => fetch(`${url}${path}`, init)
      await isServedAt(api, "/agents")
      assert.strictEqual((await api("/ready")).status, 200)
      assert.strictEqual((await api("/agents/ready")).status, 200)
      // It is a part of a path, and not the beginning of a text.
      for (const path of ["/agentsv1/runs", "/agents2/v1/runs", "/agents"]) {
        assert.strictEqual((await api(path, reading)).status, 404)
      }
    }))

  it("takes no link from a router's path that the client may choose", () =>
    using(undefined, ({ nodeListener }) => {
      // The path that it takes away begins with two slashes: in a link, that would be a host.
      const server = createServer((request, response) => {
        const originalUrl = `//evil.example.org${request.url ?? ""}`
        nodeListener(Object.assign(request, { originalUrl }), response)
      })
      return listening(server, async (api) => {
        const sent = await send(api, "/v1/messages")
        assert.match(sent.headers.get("location") ?? "", /^\/v1\/runs\//)
      })
    }))

  it.each([
    "",
    "/",
    "agents",
    "/agents/",
    "//agents",
    "/a/../b",
    "/a%2fb",
    "/a?b",
    "/a b",
    "https://a.example",
    `/${"a".repeat(200)}`,
    7
  ])("refuses %j as its path, and says what one is", async (base_path) => {
    const refused = await started({ base_path } as Http["settings"]).catch(
      (error: unknown) => error
    )
    assert.deepInclude(refused, { _tag: "InvalidInput", field: "http.settings.base_path" })
    assert.include(String(refused), 'a path such as "/agents"')
  })
})
