import { Effect } from "effect"
import { AgentSpec, Principal } from "troupe"
import { Troupe } from "troupe/layers"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })

// The server keeps only its digest. Use 32 random bytes, and give the token to the person with these roles.
const token = "a-token-for-olga"
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })

const app = Troupe.layer({
  agents: [shop],
  model: scripted([text("Good morning.")]),
  // Or { directory: ".troupe" }, or { postgres: "postgres://..." }.
  store: "ephemeral",
  http: { port: 0, tokens: [{ token, principal: olga }] },
  customer_agents: [shop.name]
})

const ask = Effect.gen(function* () {
  const { url } = yield* Troupe
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  return yield* Effect.promise(async () => {
    const body = JSON.stringify({ agent: "shop", text: "Hello" })
    const sent = await fetch(`${url}/v1/messages`, { method: "POST", headers, body })
    const { conversation_id } = (await sent.json()) as { readonly conversation_id: string }
    const events = await fetch(`${url}/v1/conversations/${conversation_id}/events`, { headers })
    for await (const piece of events.body!.pipeThrough(new TextDecoderStream())) {
      const end = /"_tag":"RunEnded".*?"text":"([^"]*)"/.exec(piece)
      if (end !== null) return `${sent.status} ${end[1]}`
    }
    return "the stream ended"
  })
})

// A service runs `Layer.launch(app)` instead, until it is stopped.
console.log(await Effect.runPromise(Effect.provide(ask, app)))

// Output:
// 202 Good morning.
