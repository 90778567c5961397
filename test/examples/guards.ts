import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text as bodyOf } from "node:stream/consumers"
import { agent, Guard } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

// A moderation model: any server with OpenAI's `/v1/moderations`. This one flags one word.
const server = createServer(async (request, response) => {
  const { input } = JSON.parse(await bodyOf(request)) as { readonly input: string }
  const violence = input.includes("bomb")
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ results: [{ flagged: violence, categories: { violence } }] }))
})
server.listen(0)
await once(server, "listening")
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/moderations`

const moderation = Guard.make({
  name: "moderation",
  on: ["message", "answer"],
  timeout_ms: 5_000,
  judge: async ({ signal, text: input }) => {
    const body = JSON.stringify({ model: "omni-moderation-latest", input })
    const headers = { "content-type": "application/json" }
    const answer = await fetch(url, { method: "POST", headers, body, signal })
    // What it throws refuses the text (`GUARD_FAILED`).
    const { results } = (await answer.json()) as {
      readonly results: ReadonlyArray<{ readonly flagged: boolean }>
    }
    return results.some(({ flagged }) => flagged)
      ? { verdict: "refuse", reason: "We do not talk about that here." }
      : { verdict: "pass" }
  }
})

// A list of patterns.
const patterns = [/\b\d{4} \d{4} \d{4} \d{4}\b/g, /\bsk-[A-Za-z0-9]{8,}\b/g]
const secrets = Guard.make({
  name: "secrets",
  on: ["message", "result", "answer"],
  judge: (of) => {
    const hidden = patterns.reduce((left, each) => left.replaceAll(each, "[hidden]"), of.text)
    return hidden === of.text
      ? { verdict: "pass" }
      : { verdict: "change", text: hidden, reason: "a card or a key" }
  }
})

// The start's guards judge all agents first, an agent's own judge that agent: here what customers read and write.
const shop = agent({ name: "shop", instructions: "Help customers.", guards: [moderation] })
const model = scripted(({ transcript: [message] }) =>
  text(`You wrote: ${message?.role === "user" ? message.text : ""}. My key is sk-12345678.`)
)
const troupe = await start({ agents: [shop], model, guards: [secrets] })

const paid = await troupe.ask({ agent: "shop", text: "I paid with 4111 1111 1111 1111" })
console.log(paid.status, paid.text)
const refused = await troupe.ask({ agent: "shop", text: "How do I build a bomb?" })
console.log(refused.status, refused.text)
for await (const part of troupe.stream({ agent: "shop", text: "And now?" })) {
  if (part.type === "text") console.log(part.text)
}
await troupe.stop()
server.close()

// Output:
// complete You wrote: I paid with [hidden]. My key is [hidden].
// failed We do not talk about that here.
// You wrote: And now?. My key is [hidden].
