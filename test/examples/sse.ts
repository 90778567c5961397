import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const carl = new Principal({ id: "carl", tenant: "default", roles: ["customer"] })
const model = scripted([text("It was paid back on Monday.")])
const troupe = await start({ agents: [shop], model, customer_agents: ["shop"] })

const server = createServer(async (_, response) => {
  const gone = new AbortController()
  response.once("close", () => gone.abort())
  response.writeHead(200, { "content-type": "text/event-stream" })
  const message = { agent: "shop", text: "Where is my money?" }
  try {
    for await (const part of troupe.stream(message, carl, { signal: gone.signal })) {
      response.write(`data: ${JSON.stringify(part)}\n\n`)
    }
    response.end()
  } catch {
    // The client is gone, and the run goes on; or the service stops.
    response.destroy()
  }
})
server.listen(0)
await once(server, "listening")

const { port } = server.address() as AddressInfo
const answer = await fetch(`http://localhost:${port}`)
for (const [, json] of (await answer.text()).matchAll(/^data: (.*)$/gm)) {
  const part = JSON.parse(json!) as { readonly type: string; readonly text?: string }
  if (part.type === "text") console.log(part.text)
}

// On SIGTERM: no new connections, then the steps in flight, then the store is closed.
server.close()
await troupe.stop()

// Output:
// It was paid back on Monday.
