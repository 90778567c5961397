#!/usr/bin/env bash
# A stored history in `ai` 7.0.173: an assistant's message with a tool's result, and behind it the sentence that was said of it.
# One would guess that convertToModelMessages keeps the order of the parts: call, result, sentence. Each part has its place in the
# list, and the type asks for no part between them.
# Seen: without a part `step-start` between them, the sentence goes into the same message as the call, before the result. A history
# that was written by hand, or brought from elsewhere, then reads as if the assistant had spoken before it knew, and a conversation
# that was over ends with a tool's result, so the model is to answer once more. No error, no warning; validateUIMessages is content.
# Source: convertToModelMessages in dist/index.js of ai gathers text and calls in a block until the next `step-start`, and writes
# the results of the block behind all of it.
# Output, 2026-11-30:
#   as stored:        user: text / assistant: text, call, text / tool: result
#   with step-start:  user: text / assistant: text, call / tool: result / assistant: text
#   guess: both are as the second
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(ai@7.0.173 zod@4.6.7)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'EOF'
import { convertToModelMessages, validateUIMessages } from "ai"

const said = (text) => ({ type: "text", text })
const result = { type: "tool-track", toolCallId: "1", state: "output-available", input: { order: "17" }, output: { at: "Kiel" } }
const history = (...between) => [
  { id: "1", role: "user", parts: [said("Where is order 17?")] },
  { id: "2", role: "assistant", parts: [said("I look."), result, ...between, said("It is in Kiel.")] }
]
const names = { "tool-call": "call", "tool-result": "result" }
const look = async (what, messages) => {
  await validateUIMessages({ messages })
  const converted = await convertToModelMessages(messages)
  const line = converted
    .map(({ content, role }) => `${role}: ${content.map(({ type }) => names[type] ?? type).join(", ")}`)
    .join(" / ")
  console.log(what.padEnd(18) + line)
  return line
}
const stored = await look("as stored:", history())
const stepped = await look("with step-start:", history({ type: "step-start" }))
console.log("guess: both are as the second")
const order = "user: text / assistant: text, call / tool: result / assistant: text"
if (stepped !== order || stored !== "user: text / assistant: text, call, text / tool: result") {
  console.log("This is no longer so.")
  process.exit(1)
}
EOF
node look.mjs
