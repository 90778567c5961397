#!/usr/bin/env bash
# How a stream of a response is resumed by its number in openai 7.59.0.
# A server has a response of six events, numbered 0 to 5. Two doors of the client take `starting_after: 3`: `responses.retrieve` with
# `stream: true`, and the helper `responses.stream` with a `response_id`.
# One would guess that both ask the server for what is behind 3, which is why there is such a number: little is sent again.
# Seen: `retrieve` does. The helper asks for the whole stream, without the number, and drops what it was sent up to 3 by itself. Whoever
# resumes a long response with it is sent all of it again each time, and a server never learns of the number.
# Source: lib/responses/ResponseStream.mjs, `_createOrRetrieveResponse`, keeps the full replay for its accumulator and filters locally.
# Output, 2026-12-01:
#   retrieve asked for:             stream=true&starting_after=3
#   retrieve gave:                  4 5
#   the helper asked for:           stream=true
#   the helper gave:                4 5
#   events sent to the helper:      6
#   guess: both ask for starting_after=3, and two events are sent
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(openai@7.59.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { createServer } from "node:http"
import OpenAI from "openai"

const response = (status, output) => ({ id: "resp_1", object: "response", created_at: 1, status, model: "m", output, error: null, incomplete_details: null, metadata: {}, tools: [], parallel_tool_calls: true, tool_choice: "auto" })
const message = (status, content) => ({ id: "msg_1", type: "message", role: "assistant", status, content })
const part = (text) => ({ type: "output_text", text, annotations: [] })
const at = { item_id: "msg_1", output_index: 0, content_index: 0 }
const events = [
  { type: "response.created", response: response("in_progress", []) },
  { type: "response.output_item.added", output_index: 0, item: message("in_progress", []) },
  { type: "response.content_part.added", ...at, part: part("") },
  { type: "response.output_text.delta", ...at, delta: "hello" },
  { type: "response.output_item.done", output_index: 0, item: message("completed", [part("hello")]) },
  { type: "response.completed", response: response("completed", [message("completed", [part("hello")])]) }
].map((event, sequence_number) => ({ ...event, sequence_number }))

let query = ""
let sent = 0
const server = createServer((request, answer) => {
  const { search, searchParams } = new URL(request.url, "http://server")
  query = search.slice(1)
  const after = Number(searchParams.get("starting_after") ?? -1)
  const rest = events.filter(({ sequence_number }) => sequence_number > after)
  sent = rest.length
  answer.setHeader("content-type", "text/event-stream")
  answer.end(rest.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""))
})
await new Promise((resolve) => server.listen(0, resolve))
const client = new OpenAI({ baseURL: `http://127.0.0.1:${server.address().port}`, apiKey: "none", maxRetries: 0 })
const numbers = async (stream) => {
  const seen = []
  for await (const { sequence_number } of stream) seen.push(sequence_number)
  return seen.join(" ")
}
const say = (what, value) => console.log(`${what}:`.padEnd(31), value)

const plain = await numbers(await client.responses.retrieve("resp_1", { stream: true, starting_after: 3 }))
const asked = query
say("retrieve asked for", asked)
say("retrieve gave", plain)
const helped = await numbers(client.responses.stream({ response_id: "resp_1", starting_after: 3 }))
say("the helper asked for", query)
say("the helper gave", helped)
say("events sent to the helper", sent)
console.log("guess: both ask for starting_after=3, and two events are sent")
server.close()
const isSame = asked.includes("starting_after=3") && !query.includes("starting_after") && plain === "4 5" && helped === "4 5" && sent === 6
if (!isSame) {
  console.log("The behaviour has changed.")
  process.exitCode = 1
}
END
node look.mjs
