import { once } from "node:events"
import type { AddressInfo } from "node:net"
import express from "express"
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

const app = express()
// Before `express.json()`: the API reads its bodies itself. It is under /agents/v1/... then.
app.use("/agents", troupe.nodeListener)
app.use(express.json())
app.post("/orders", (request, response) => void response.json(request.body))

const server = app.listen(0)
await once(server, "listening")
const { port } = server.address() as AddressInfo

const sent = await fetch(`http://localhost:${port}/agents/v1/messages`, {
  method: "POST",
  headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  body: JSON.stringify({ agent: "shop", text: "Hello" })
})
console.log(sent.status)

server.close()
await troupe.stop()

// Output:
// 202
