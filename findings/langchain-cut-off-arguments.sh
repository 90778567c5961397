#!/usr/bin/env bash
# A call whose arguments were cut off, in a history of the shape of OpenAI's chat API, in @langchain/core 1.4.0.
# A model that reaches its limit of tokens within a call leaves arguments that are no JSON. The class AIMessage has a list for such
# calls, `invalid_tool_calls`. One would guess that every door for that shape fills it.
# Seen: `new AIMessage` with the calls in `additional_kwargs` fills it. The same calls in `{ role: "assistant", tool_calls }`, which
# models, graphs and prompts accept as a message, raise a SyntaxError that names neither message nor call; with it the whole history
# is refused.
# Source: _coerceToolCall in dist/messages/utils.js parses the arguments as they are; the constructor in dist/messages/ai.js uses
# defaultToolCallParser, which catches.
# Output, 2026-11-30:
#   new AIMessage:               0 calls, 1 invalid call
#   coerceMessageLikeToMessage:  SyntaxError
#   guess: 0 calls, 1 invalid call in both
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@langchain/core@1.4.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'EOF'
import { AIMessage, coerceMessageLikeToMessage } from "@langchain/core/messages"

console.warn = () => {}
const tool_calls = [{ id: "1", type: "function", function: { name: "track", arguments: '{"order": "17"' } }]
const look = (what, make) => {
  let line
  try {
    const { invalid_tool_calls: invalid, tool_calls: calls } = make()
    line = `${calls.length} calls, ${invalid.length} invalid call`
  } catch (error) {
    line = error.name
  }
  console.log(what.padEnd(29) + line)
  return line
}
const made = look("new AIMessage:", () => new AIMessage({ content: "", additional_kwargs: { tool_calls } }))
const coerced = look("coerceMessageLikeToMessage:", () =>
  coerceMessageLikeToMessage({ role: "assistant", content: "", tool_calls })
)
console.log("guess: 0 calls, 1 invalid call in both")
if (made !== "0 calls, 1 invalid call" || coerced !== "SyntaxError") {
  console.log("This is no longer so.")
  process.exit(1)
}
EOF
node look.mjs
