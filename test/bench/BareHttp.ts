/**
 * The lower bound of the HTTP row: the bare agent behind `node:http`, with the routes, the token, the answers and the
 * event stream of the runtime's API, as far as its clients touch them. No limits, no problem documents, no metrics.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"
import { Schema } from "effect"
import * as BareAgent from "./BareAgent.ts"

const digestOf = (token: string) => createHash("sha256").update(token).digest()

const route = /^\/v1(?:\/conversations\/([\w-]+))?\/(messages|events)$/

const nameOf = (tag: string) => tag.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase()

/** Events of a conversation from its start, and then as they happen; what is there at once is one write. */
const stream = async (response: ServerResponse, { runs, wakeups }: BareAgent.Conversation) => {
  const names = new Map<string, string>()
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })
  response.write(": hello\n\n")
  for (let n = 0, seq = 0; !response.destroyed;) {
    const run = runs[n]
    let frames = ""
    for (const { at, event, seq: place } of run?.entries.slice(seq) ?? []) {
      seq = place + 1
      let name = names.get(event._tag)
      if (name === undefined) names.set(event._tag, (name = nameOf(event._tag)))
      const data = JSON.stringify({ run_id: run!.id, seq: place, at, event })
      frames += `id: ${run!.ordinal}.${place}\nevent: ${name}\ndata: ${data}\n\n`
    }
    if (frames !== "") response.write(frames)
    if (run !== undefined && run.entries.at(-1)?.event._tag === "RunEnded") {
      n++
      seq = 0
    } else {
      const waiting = run?.wakeups ?? wakeups
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }
}

/** Serves on a free port of this machine; gives the URL. */
export const serve = async (options: BareAgent.Options, token: string): Promise<string> => {
  const send = BareAgent.make(options)
  const digest = digestOf(token)
  const decode = Schema.decodeUnknownSync(
    Schema.Struct({ agent: Schema.Literal("reader"), text: Schema.String })
  )
  const conversations = new Map<string, BareAgent.Conversation>()
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const given = digestOf((request.headers.authorization ?? "").replace(/^Bearer /, ""))
    if (!timingSafeEqual(given, digest)) return response.writeHead(401).end()
    const [, id, what] = route.exec(request.url ?? "") ?? []
    const known = id === undefined ? undefined : conversations.get(id)
    if (what === undefined || (id !== undefined && known === undefined)) {
      return response.writeHead(404).end()
    }
    if (what === "events") return stream(response, known!)
    const { text } = decode(await json(request))
    const run = await send(text, known)
    const { conversation, ordinal } = run
    conversations.set(conversation.id, conversation)
    const body = JSON.stringify({
      task_id: run.id,
      run_id: run.id,
      conversation_id: conversation.id,
      ordinal,
      status: "pending"
    })
    const location = `/v1/runs/${run.id}`
    return response.writeHead(202, { "content-type": "application/json", location }).end(body)
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.writeHead(400).end())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
