import fastify from "fastify"
import { Hono } from "hono"
import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
const token = "7b0a3c5e9d1f48e2a6c4b8d0f2e4a6c8"
const troupe = await start({
  agents: [shop],
  model: scripted([text("Good morning."), text("Good evening.")]),
  http: { tokens: [{ token, principal: olga }], settings: { base_path: "/agents" } }
})

const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
const message = { method: "POST", headers, body: JSON.stringify({ agent: "shop", text: "Hello" }) }

// Hono takes the path away, and the answer names the run under it nevertheless.
const hono = new Hono().mount("/agents", (request) => troupe.handler(request))
const sent = await hono.request("/agents/v1/messages", message)
console.log((await hono.request(sent.headers.get("location") ?? "", { headers })).status)

// Fastify leaves it there.
const app = fastify()
await app.register(
  (api) => {
    api.removeAllContentTypeParsers()
    api.addContentTypeParser("*", (_request, _payload, done) => done(null))
    api.all("/*", (request, reply) => {
      reply.hijack()
      troupe.nodeListener(request.raw, reply.raw)
    })
    return Promise.resolve()
  },
  { prefix: "/agents" }
)
const url = await app.listen({ port: 0 })
const { headers: answered } = await fetch(`${url}/agents/v1/messages`, message)
console.log((await fetch(url + answered.get("location"), { headers })).status)

await app.close()
await troupe.stop()

// Output:
// 200
// 200
