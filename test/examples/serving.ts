import { createServer } from "node:http"
import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
// 32 random bytes, from your secrets. Only their digest stays in the process.
const token = "7b0a3c5e9d1f48e2a6c4b8d0f2e4a6c8"

const troupe = await start({
  agents: [shop],
  model: scripted([text("Good morning.")]),
  http: { port: 0, tokens: [{ token, principal: olga }] }
})
const sent = await fetch(`${troupe.url}/v1/messages`, {
  method: "POST",
  headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  body: JSON.stringify({ agent: "shop", text: "Hello" })
})
console.log(sent.status)

// The same API in a server that you have: for `node:http`, Express or Fastify the listener, elsewhere Web requests.
const server = createServer((request, response) =>
  request.url?.startsWith("/v1/") === true
    ? troupe.nodeListener(request, response)
    : response.end("the shop")
)
const runs = await troupe.handler(
  new Request("http://localhost/v1/runs", { headers: { authorization: `Bearer ${token}` } })
)
console.log(runs.status)

server.close()
await troupe.stop()

// Output:
// 202
// 200
