#!/usr/bin/env bash
# A stored history in `ai` 7.0.173 whose tool was still at work: its part is `output-available` with `preliminary: true`, as a
# stream leaves it that was left in the middle (the SDK itself writes such parts for tools that yield).
# One would guess that a preliminary result is not given out as the result: that the call is left out, as one whose input is still
# streaming is, or that it dangles, as one without a result does.
# Seen: the model is sent the preliminary output as the tool's result, with nothing that says so. What a tool says on its way
# ("looking") stands as what it found. The same history without that part's output leaves the call dangling, and one that waits for
# a person's approval vanishes with its whole message. `ignoreIncompleteToolCalls: true` leaves out the preliminary one too.
# Source: convertToModelMessages in dist/index.js of ai writes a result for every part in the state `output-available`; the only
# place that reads `preliminary` there is the filter of ignoreIncompleteToolCalls.
# Output, 2026-11-30:
#   preliminary:        user / assistant: call / tool: {"at":"looking"} / user
#   without output:     user / assistant: call / user
#   waits for a yes:    user / user
#   incomplete ignored: user / user
#   guess: the first is as the second, or has no call
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

const history = (state) => [
  { id: "1", role: "user", parts: [{ type: "text", text: "Where is order 17?" }] },
  { id: "2", role: "assistant", parts: [{ type: "tool-track", toolCallId: "1", input: { order: "17" }, ...state }] },
  { id: "3", role: "user", parts: [{ type: "text", text: "And?" }] }
]
const shown = ({ content, role }) =>
  role === "user" ? "user" : role === "tool" ? `tool: ${JSON.stringify(content[0].output.value)}` : "assistant: call"
const look = async (what, state, options) => {
  const messages = history(state)
  await validateUIMessages({ messages })
  const line = (await convertToModelMessages(messages, options)).map(shown).join(" / ")
  console.log(what.padEnd(20) + line)
  return line
}
const preliminary = { state: "output-available", output: { at: "looking" }, preliminary: true }
const seen = [
  await look("preliminary:", preliminary),
  await look("without output:", { state: "input-available" }),
  await look("waits for a yes:", { state: "approval-requested", approval: { id: "a" } }),
  await look("incomplete ignored:", preliminary, { ignoreIncompleteToolCalls: true })
]
console.log("guess: the first is as the second, or has no call")
const then = ['user / assistant: call / tool: {"at":"looking"} / user', "user / assistant: call / user", "user / user", "user / user"]
if (JSON.stringify(seen) !== JSON.stringify(then)) {
  console.log("This is no longer so.")
  process.exit(1)
}
EOF
node look.mjs
