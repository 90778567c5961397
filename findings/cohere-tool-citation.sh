#!/usr/bin/env bash
# An answer of Cohere to @ai-sdk/cohere 4.0.52 that cites the result of a tool.
# Cohere's API cites by itself after a tool has run. Each source of a citation is of the type "document", which has a document,
# or of the type "tool", which has a tool_output and no document (docs.cohere.com, "Citations" of the move from v1 to v2).
# One would guess that the answer arrives, with the citation as a source or without it.
# Seen: as a body, the whole answer is refused as invalid JSON, after it has been paid for. As a stream, the same answer arrives,
# because citations of a stream are not read at all.
# Source: dist/index.js of the package, cohereChatResponseSchema: document is an object that each source must have;
# cohereChatChunkSchema: citation-start has no fields.
# Output, 2026-11-29:
#   cites a document, body: hello
#   cites a tool, body:     AI_APICallError, Invalid JSON response
#   cites a tool, stream:   hello
#   guess: hello, three times
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@ai-sdk/cohere@4.0.52)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { createCohere } from "@ai-sdk/cohere"

const prompt = [{ role: "user", content: [{ type: "text", text: "Hello" }] }]
const usage = { tokens: { input_tokens: 3, output_tokens: 1 } }
const model = (response) => createCohere({ apiKey: "none", fetch: async () => response })("command-a-03-2025")
const cited = (source) => ({ start: 0, end: 5, text: "hello", type: "TEXT_CONTENT", sources: [source] })
const body = async (source) => {
  const message = { role: "assistant", content: [{ type: "text", text: "hello" }], citations: [cited(source)] }
  return model(Response.json({ id: "1", message, finish_reason: "COMPLETE", usage }))
    .doGenerate({ prompt })
    .then(
      ({ content }) => content[0].text,
      (error) => `${error.name}, ${error.message}`
    )
}
const streamed = async (source) => {
  const events = [
    { type: "message-start", id: "1", delta: { message: { role: "assistant" } } },
    { type: "content-start", index: 0, delta: { message: { content: { type: "text", text: "" } } } },
    { type: "content-delta", index: 0, delta: { message: { content: { text: "hello" } } } },
    { type: "citation-start", index: 0, delta: { message: { citations: cited(source) } } },
    { type: "citation-end", index: 0 },
    { type: "content-end", index: 0 },
    { type: "message-end", delta: { finish_reason: "COMPLETE", usage } }
  ]
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("")
  const response = new Response(text, { headers: { "content-type": "text/event-stream" } })
  const { stream } = await model(response).doStream({ prompt })
  const parts = []
  for await (const part of stream) {
    if (part.type === "text-delta") parts.push(part.delta)
    if (part.type === "error") parts.push(`${part.error.name}, ${part.error.message}`)
  }
  return parts.join("")
}
const tool = { type: "tool", id: "weather:0", tool_output: { temperature: "20" } }
const document = { type: "document", id: "1", document: { id: "1", title: "A page", text: "hello" } }
const fromDocument = await body(document)
const fromTool = await body(tool)
const fromStream = await streamed(tool)
console.log(`cites a document, body: ${fromDocument}`)
console.log(`cites a tool, body:     ${fromTool}`)
console.log(`cites a tool, stream:   ${fromStream}`)
console.log("guess: hello, three times")
if (fromDocument !== "hello" || !fromTool.startsWith("AI_APICallError") || fromStream !== "hello") {
  console.error("No longer so: an answer that cites a tool arrives as a body, or not as a stream.")
  process.exit(1)
}
END
node look.mjs
