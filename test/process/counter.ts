/**
 * The outside world: a process of its own that writes down every effect, with fsync, before it does anything else, and
 * knows nothing of runs. Arguments: its log, and how long an answer may take, in ms. Told over IPC to hold a tag, it writes the next such effect
 * down and does not answer. A GET says whether it has seen a key.
 */
import { fsyncSync, openSync, writeSync } from "node:fs"
import { createServer } from "node:http"
import type { Notice } from "./Plan.ts"

const log = openSync(process.argv[2]!, "a")
const answer_ms = Number(process.argv[3])
const held = new Set<string>()
const waiting: Array<() => void> = []

const say = (notice: Notice) => process.send?.(notice)

process.on("message", (message: { readonly hold?: string; readonly release?: boolean }) => {
  if (message.hold !== undefined) held.add(message.hold)
  if (message.release === true) {
    held.clear()
    for (const answer of waiting.splice(0)) answer()
  }
})
// Nobody is left who could ask what happened.
process.on("disconnect", () => process.exit())

/** The idempotency keys of what it has seen: who lost an answer may ask. */
const keys = new Set<string>()

const server = createServer((request, response) => {
  if (request.method === "GET") {
    const key = new URL(request.url ?? "", "http://counter").searchParams.get("key")
    response.writeHead(200).end(JSON.stringify(keys.has(key ?? "")))
    return
  }
  let body = ""
  request.on("data", (chunk: Buffer) => (body += chunk.toString()))
  request.on("end", () => {
    const said = JSON.parse(body) as Record<"key" | "tag" | "tool", string>
    // A direct call has its key in the header.
    const key = said.key ?? String(request.headers["idempotency-key"])
    writeSync(log, `${JSON.stringify({ ...said, key })}\n`)
    fsyncSync(log)
    const { tag, tool } = said
    keys.add(key)
    const answer = () => response.writeHead(200).end("{}")
    // An answer takes its time, so that a kill at random finds calls that wait for one.
    if (held.delete(tag)) waiting.push(answer)
    else setTimeout(answer, Math.random() * answer_ms)
    say({ notice: "received", tool, tag })
  })
})

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  say({ notice: "ready", url: `http://127.0.0.1:${port}` })
})
