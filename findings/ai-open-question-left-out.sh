#!/usr/bin/env bash
# A message that is sent while a question of a tool is open, ai 7.0.173.
# The stored chat has a text, a call that waits for approval, and a new message of the user. convertToModelMessages makes the
# prompt; ignoreIncompleteToolCalls, which leaves out calls without a result, is off as it is by default.
# One would guess that the call stays in the prompt, or that an error says that it has no result, as with any other call.
# Seen: a call that waits to run stays; the one that waits for a person is left out without a word. The model reads that it said
# "I book the refund." and nothing of the call, so that it may well ask for the same refund again, beside the open question.
# Source: convertToModelMessages in src/ui/convert-to-model-messages.ts of the package filters tool parts in the state
# approval-requested before the user's last message; its comment says that a later message supersedes them.
# Output, 2026-12-01:
#   a call that waits to run:        text, tool-call
#   a call that waits for a person:  text
#   guess:                           text, tool-call, tool-approval-request
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(ai@7.0.173 zod@4.6.7)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { convertToModelMessages } from "ai"

const go = async (what, state) => {
  const call = { type: "tool-refund", toolCallId: "1", input: { order: 1 }, ...state }
  const [, said] = await convertToModelMessages([
    { role: "user", parts: [{ type: "text", text: "Refund my order." }] },
    {
      role: "assistant",
      parts: [{ type: "step-start" }, { type: "text", text: "I book the refund." }, call]
    },
    { role: "user", parts: [{ type: "text", text: "How long does it take?" }] }
  ])
  const parts = said.content.map(({ type }) => type).join(", ")
  console.log(`${`${what}:`.padEnd(32)} ${parts}`)
  return parts
}
const seen = [
  await go("a call that waits to run", { state: "input-available" }),
  await go("a call that waits for a person", { state: "approval-requested", approval: { id: "q" } })
]
console.log(`${"guess:".padEnd(32)} text, tool-call, tool-approval-request`)
if (seen.join("; ") !== "text, tool-call; text") {
  console.error("No longer so: an open question is in the prompt, or no open call is.")
  process.exit(1)
}
END
node look.mjs
