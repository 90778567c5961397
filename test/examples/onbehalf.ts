import { AgentSpec } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const token = "9d1f48e2a6c4b8d0f2e4a6c87b0a3c5e"
const backend = { id: "shop-web", tenant: "default", roles: ["shop-backend"] }

const troupe = await start({
  agents: [shop],
  model: scripted(() => text("Good morning.")),
  customer_agents: ["shop"],
  http: { port: 0, tokens: [{ token, principal: backend }] },
  // It sends and follows for customers, as they may themselves. For itself, and for others, it does nothing.
  roles: { "shop-backend": { actFor: { customer: ["send", "follow"] } } }
})

// In code: the user is the principal, and `via` says who acts.
const carl = { id: "carl", tenant: "default", roles: ["customer"], via: backend }
const { conversation, run } = await troupe.ask({ agent: "shop", text: "Hello" }, carl)
const { by, via } = await troupe.run(run)
console.log(by, via)

// Over HTTP: the backend's token, and the user in a header.
const read = async (path: string, user?: string) => {
  const headers = new Headers({ authorization: `Bearer ${token}` })
  if (user !== undefined) headers.set("on-behalf-of", encodeURIComponent(user))
  const response = await fetch(new URL(path, troupe.url), { headers })
  return response.status
}
console.log(await read(`/v1/conversations/${conversation}`, "carl"))
// Another customer is not told whose it is; the service's log says it: "carl began it".
console.log(await read(`/v1/conversations/${conversation}`, "dora"))
console.log(await read(`/v1/conversations/${conversation}`))
await troupe.stop()

// Output:
// carl shop-web
// 200
// 404
// 403
