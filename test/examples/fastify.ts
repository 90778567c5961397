import fastify from "fastify"
import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
const token = "7b0a3c5e9d1f48e2a6c4b8d0f2e4a6c8"
const troupe = await start({
  agents: [shop],
  model: scripted([text("Good morning.")]),
  http: { tokens: [{ token, principal: olga }] }
})

const app = fastify()
// A context of its own, whose content type parser leaves the body to the API.
await app.register((api) => {
  api.removeAllContentTypeParsers()
  api.addContentTypeParser("*", (_request, _payload, done) => done(null))
  api.all("/v1/*", (request, reply) => {
    reply.hijack()
    troupe.nodeListener(request.raw, reply.raw)
  })
  return Promise.resolve()
})
app.post("/orders", (request) => request.body)

const url = await app.listen({ port: 0 })

const sent = await fetch(`${url}/v1/messages`, {
  method: "POST",
  headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  body: JSON.stringify({ agent: "shop", text: "Hello" })
})
console.log(sent.status)

await app.close()
await troupe.stop()

// Output:
// 202
