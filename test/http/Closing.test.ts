/** A server that stops while event streams are open on it, which do not end by themselves. */
import { createHash } from "node:crypto"
import { once } from "node:events"
import type { Server } from "node:http"
import { Agent, createServer, request as requestOf } from "node:http"
import type { AddressInfo } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, ManagedRuntime } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import express from "express"
import fastify from "fastify"
import * as Surface from "../../layers/compose/assembly/HttpSurface.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { Tenant } from "../../src/value/Ids.ts"

const token = "a-token-of-olgas"
const principal = new Principal({ id: "olga", tenant: Tenant.make("acme"), roles: ["operator"] })
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }

const options = {
  agents: [AgentSpec.make({ name: "shop", instructions: "Help." })],
  model: scripted(() => text("Good morning."))
}
const service = (http: { readonly port?: number; readonly host?: string } = {}) =>
  start({ ...options, http: { ...http, tokens: [{ token, principal }] } })

/** A stream that has shown a whole run. `end` is how it ended, and the id of its last event. */
const open = async (api: string) => {
  const body = JSON.stringify({ agent: "shop", text: "Hello" })
  const sent = await fetch(`${api}/v1/messages`, { method: "POST", headers, body })
  const { conversation_id: conversation } = (await sent.json()) as {
    readonly conversation_id: string
  }
  const events = await fetch(`${api}/v1/conversations/${conversation}/events`, { headers })
  const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader()
  let said = ""
  while (!said.includes("RunEnded")) said += (await reader.read()).value ?? ""
  const rest = async () => {
    for (;;) {
      const { done, value = "" } = await reader.read()
      if (done) return /.*^id: (\S+)$/ms.exec(said)?.[1]
      said += value
    }
  }
  // A connection that breaks off is no end.
  return { conversation, end: rest().catch((error: Error) => `broken: ${error.message}`) }
}

/** A connection that its client keeps for a next request. */
const keptAlive = (api: string) =>
  new Promise<number | undefined>((resolve, reject) =>
    requestOf(
      `${api}/v1/runs`,
      { headers, agent: new Agent({ keepAlive: true, timeout: 600_000 }) },
      (response) => response.resume().on("end", () => resolve(response.statusCode))
    )
      .on("error", reject)
      .end()
  )

/** `close` ends, and so do the streams, each behind its last event. */
const closes = async (api: string, close: () => Promise<unknown>) => {
  const streams = [await open(api), await open(api)]
  assert.strictEqual(await keptAlive(api), 200)
  await close()
  for (const { end } of streams) assert.match((await end) ?? "none", /^\d+\.\d+$/)
}

const closing = (server: Server) => () => new Promise((resolve) => server.close(resolve))

/** It keeps a connection for longer than a test may take. */
const patient = () => createServer({ keepAliveTimeout: 3_600_000 })

const listening = async (server: Server): Promise<string> => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

describe("a server that has mounted the API closes with open event streams", () => {
  it("Fastify", async () => {
    const troupe = await service()
    const app = fastify()
    await app.register((api) => {
      api.removeAllContentTypeParsers()
      api.addContentTypeParser("*", (_request, _payload, done) => done(null))
      api.all("/v1/*", (request, reply) => {
        reply.hijack()
        troupe.nodeListener(request.raw, reply.raw)
      })
      return Promise.resolve()
    })
    await closes(await app.listen({ port: 0 }), () => app.close())
    await troupe.stop()
  })

  it("Express", async () => {
    const troupe = await service()
    const server = createServer(express().use("/agents", troupe.nodeListener))
    await closes(`${await listening(server)}/agents`, closing(server))
    await troupe.stop()
  })

  it("node:http, whose clients resume at another process", async () => {
    const troupe = await service()
    const server = createServer(troupe.nodeListener)
    const api = await listening(server)
    const { conversation, end } = await open(api)
    await closing(server)()
    const other = createServer(troupe.nodeListener)
    const again = await fetch(`${await listening(other)}/v1/conversations/${conversation}/events`, {
      headers: { ...headers, "last-event-id": (await end)! }
    })
    const reader = again.body!.pipeThrough(new TextDecoderStream()).getReader()
    let said = ""
    while (!said.includes("caught up")) said += (await reader.read()).value ?? ""
    assert.notInclude(said, "RunEnded")
    await reader.cancel()
    await closing(other)()
    await troupe.stop()
  })

  it("node:http, with a request under way, whose connection is not kept", async () => {
    const troupe = await service()
    const server: Server = patient()
    server.on("request", (request, response) => {
      troupe.nodeListener(request, response)
      // It stops while the request is being answered.
      if (request.url === "/v1/runs") server.close()
    })
    const api = await listening(server)
    const closed = once(server, "close")
    assert.strictEqual(await keptAlive(api), 200)
    await closed
    await troupe.stop()
  })
})

describe("a service stops with open event streams", () => {
  it("of start", async () => {
    const troupe = await service({ port: 0 })
    await closes(troupe.url!, () => troupe.stop())
  })

  it("of start, mounted in a server that closes later", async () => {
    const troupe = await service()
    const server = createServer(troupe.nodeListener)
    await closes(await listening(server), () => troupe.stop())
    await closing(server)()
  })

  it("of Troupe.layer", async () => {
    const app = Troupe.layer({ ...options, http: { port: 0, tokens: [{ token, principal }] } })
    const runtime = ManagedRuntime.make(app)
    const url = await runtime.runPromise(Effect.map(Troupe, (troupe) => troupe.url!))
    await closes(url, () => runtime.dispose())
  })

  it("of routes in a router of one's own", async () => {
    const sha256 = createHash("sha256").update(token).digest("hex")
    const app = HttpRouter.serve(
      Layer.merge(
        HttpRouter.add("GET", "/orders", HttpServerResponse.text("3 orders")),
        Surface.routes({ credentials: [{ sha256, principal }] })
      ),
      { disableLogger: true, disableListenLog: true }
    ).pipe(
      Layer.provideMerge(
        NodeHttpServer.layer(patient, { port: 0, gracefulShutdownTimeout: "1 hour" })
      ),
      Layer.provide(Troupe.layer(options))
    )
    const runtime = ManagedRuntime.make(app)
    const url = await runtime.runPromise(
      Effect.map(HttpServer.HttpServer, ({ address }) => HttpServer.formatAddress(address))
    )
    await closes(url.replace(/0\.0\.0\.0|\[::\]/, "localhost").replace(/\/$/, ""), () =>
      runtime.dispose()
    )
  })
})
