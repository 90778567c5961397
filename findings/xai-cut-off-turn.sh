#!/usr/bin/env bash
# A turn that max_output_tokens has cut off, by the responses model of @ai-sdk/xai 5.0.12: the same response, as a body and as a stream.
# One would guess that both report the finish reason `length`.
# Seen: the stream does. The body gives `other`, with the raw word `incomplete`: its incomplete_details are not read. A caller that goes on
# after `length` gives up after `other`.
# Source: dist/index.js of the package, doGenerate (mapXaiResponsesFinishReason of response.status) beside doStream ("response.incomplete").
# Output, 2026-11-28:
#   doGenerate: other, raw incomplete
#   doStream:   length, raw max_output_tokens
#   guess: length, twice
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@ai-sdk/xai@5.0.12)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { createXai } from "@ai-sdk/xai"

const response = {
  id: "r1",
  object: "response",
  created_at: 1,
  model: "grok-4",
  status: "incomplete",
  incomplete_details: { reason: "max_output_tokens" },
  output: [
    {
      type: "message",
      id: "m1",
      role: "assistant",
      status: "incomplete",
      content: [{ type: "output_text", text: "half an", annotations: [] }]
    }
  ],
  usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 }
}
const prompt = [{ role: "user", content: [{ type: "text", text: "Hello" }] }]
const model = (answer) => createXai({ apiKey: "none", fetch: async () => answer }).responses("grok-4")
const tell = ({ unified, raw }) => `${unified}, raw ${raw}`

const body = tell((await model(Response.json(response)).doGenerate({ prompt })).finishReason)
const event = `data: ${JSON.stringify({ type: "response.incomplete", response })}\n\n`
const headers = { "content-type": "text/event-stream" }
const { stream } = await model(new Response(event, { headers })).doStream({ prompt })
let streamed
for await (const part of stream) if (part.type === "finish") streamed = tell(part.finishReason)
console.log(`doGenerate: ${body}`)
console.log(`doStream:   ${streamed}`)
console.log("guess: length, twice")
if (body !== "other, raw incomplete" || streamed !== "length, raw max_output_tokens") {
  console.error("No longer so: a turn that was cut off has one finish reason, or others than these.")
  process.exit(1)
}
END
node look.mjs
