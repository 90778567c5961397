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

// app/v1/[...path]/route.ts: Next.js gives each request to the function of its method.
const route = (request: Request): Promise<Response> => troupe.handler(request)
export { route as DELETE, route as GET, route as PATCH, route as POST, route as PUT }
// Server-sent events need the Node runtime, and no cache.
export const runtime = "nodejs"
export const dynamic = "force-dynamic"

const sent = await route(
  new Request("http://localhost/v1/messages", {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ agent: "shop", text: "Hello" })
  })
)
console.log(sent.status)

await troupe.stop()

// Output:
// 202
