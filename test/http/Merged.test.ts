/** The API's routes in a router that has others. */
import { createHash } from "node:crypto"
import { createServer, request as requestOf } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import type { RouteOptions } from "../../layers/compose/options/ServerOptions.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { maintenance } from "../feature/maintenance/Maintenance.ts"

const token = "a-token-of-olgas"
const principal = new Principal({ id: "olga", tenant: Tenant.make("acme"), roles: ["operator"] })
const sha256 = createHash("sha256").update(token).digest("hex")
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }

const served = (options: RouteOptions) =>
  HttpRouter.serve(
    Layer.merge(
      HttpRouter.add("GET", "/orders", HttpServerResponse.text("3 orders")),
      Server.routes(options)
    ),
    { disableLogger: true, disableListenLog: true }
  ).pipe(
    Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
    Layer.provide(
      Troupe.layer({
        agents: [AgentSpec.make({ name: "shop", instructions: "Help." })],
        model: scripted(() => text("Good morning.")),
        features: [maintenance]
      })
    )
  )

const using = (use: (url: string) => Promise<void>) =>
  Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    yield* Effect.promise(() => use(HttpServer.formatAddress(address).replace(/\/$/, "")))
  }).pipe(Effect.provide(served({ credentials: [{ sha256, principal }] })), Effect.runPromise)

/** The status of a request that names another host. */
const misdirected = (url: string, path: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    requestOf(url + path, { headers: { ...headers, host: "evil.example.org" } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on("error", reject)
      .end()
  })

describe("routes of the API among others", () => {
  it("answer as on a server of their own, to the end of an event stream", () =>
    using(async (url) => {
      const sent = await fetch(`${url}/v1/messages`, {
        method: "POST",
        headers,
        body: JSON.stringify({ agent: "shop", text: "Hello" })
      })
      assert.strictEqual(sent.status, 202)
      assert.match(sent.headers.get("location") ?? "", /^\/v1\/runs\//)
      const { conversation_id } = (await sent.json()) as { readonly conversation_id: string }
      const { body } = await fetch(`${url}/v1/conversations/${conversation_id}/events`, { headers })
      let said = ""
      for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
        said += piece
        if (said.includes("RunEnded")) break
      }
      assert.include(said, "Good morning.")
      assert.strictEqual((await fetch(`${url}/metrics`, { headers })).status, 200)

      const refused = await fetch(`${url}/v1/runs`)
      assert.strictEqual(refused.status, 401)
      assert.include(refused.headers.get("content-security-policy") ?? "", "default-src 'none'")
      const { correlation_id } = (await refused.json()) as { readonly correlation_id: string }
      assert.strictEqual(refused.headers.get("x-correlation-id"), correlation_id)
      assert.strictEqual((await fetch(`${url}/v1/runs?colour=red`, { headers })).status, 400)
      assert.strictEqual(await misdirected(url, "/v1/runs"), 421)
    }))

  it("answer for the features of the runtime", () =>
    using(async (url) => {
      const body = JSON.stringify({ on: true })
      await fetch(`${url}/v1/maintenance`, { method: "PUT", headers, body })
      const response = await fetch(`${url}/v1/maintenance`, { headers })
      assert.deepStrictEqual(
        [response.status, await response.json()],
        [200, { on: true, by: "olga" }]
      )
    }))

  it("leave the others, and what is none, to their owner", () =>
    using(async (url) => {
      const orders = await fetch(`${url}/orders`)
      assert.strictEqual(await orders.text(), "3 orders")
      assert.isNull(orders.headers.get("x-correlation-id"))
      assert.strictEqual(await misdirected(url, "/orders"), 200)
      for (const path of ["/nothing", "/openapi.json", "/docs"]) {
        const { headers: answered, status } = await fetch(url + path)
        assert.strictEqual(status, 404)
        assert.isNull(answered.get("x-correlation-id"))
      }
    }))

  const wrong = {
    credentials: { credentials: [{ sha256: "abc", principal }] },
    settings: { credentials: [], settings: [] },
    listen: { credentials: [], listen: { port: 0 } },
    base_path: { credentials: [], settings: { base_path: "/agents" } },
    customer_agents: { credentials: [], settings: { customer_agents: ["back-office"] } }
  }
  it.each(Object.entries(wrong))("are refused where %s is wrong", async (name, options) => {
    const error = await Effect.runPromise(
      Effect.flip(Effect.scoped(Layer.build(served(options as unknown as RouteOptions))))
    )
    assert.strictEqual(error._tag, "InvalidInput")
    assert.include("field" in error ? error.field : "", name)
  })
})
