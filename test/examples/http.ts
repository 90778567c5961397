import { createHash } from "node:crypto"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { AgentSpec, Principal } from "troupe"
import * as Server from "troupe/http"
import { Runtime, Stores } from "troupe/layers"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })

// The server keeps only its digest. Use 32 random bytes, and give the token to the person with these roles.
const token = "a-token-for-olga"
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
const sha256 = createHash("sha256").update(token).digest("hex")

const app = Server.layer({
  listen: { port: 0 },
  credentials: [{ sha256, principal: olga }],
  settings: { customer_agents: [shop.name] }
}).pipe(
  Layer.provideMerge(Runtime.layer({ agents: [shop], tools: [] })),
  Layer.provide(scripted([text("Good morning.")])),
  // Or Stores.directory(".troupe"), or Stores.postgres(Redacted.make("postgres://...")).
  Layer.provideMerge(Stores.ephemeral)
)

const ask = Effect.gen(function* () {
  const { address } = yield* HttpServer.HttpServer
  const url = HttpServer.formatAddress(address)
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
