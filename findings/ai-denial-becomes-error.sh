#!/usr/bin/env bash
# What the model reads of a refused call, at once and from the next message on, ai 7.0.173.
# A person refuses a call. The chat is converted for the model when the answer is given, and again when it is stored with the call
# in its end state, as it is for each later message.
# One would guess that both give the model the same result, execution-denied with the person's reason.
# Seen: the first one is execution-denied. In the end state the same refusal is error-text, which says that the tool failed. Where
# the provider runs the tool, the call is left without any result.
# Source: convertToModelMessages in src/ui/convert-to-model-messages.ts of the package has a case for each of the two states.
# Output, 2026-12-01:
#   answered:                     execution-denied "not this week"
#   end state:                    error-text "not this week"
#   end state, provider runs it:  no result
#   guess:                        execution-denied "not this week" each time
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

const approval = { id: "q", approved: false, reason: "not this week" }
const go = async (what, state) => {
  const call = { type: "tool-refund", toolCallId: "1", input: { order: 1 }, approval, ...state }
  const messages = await convertToModelMessages([
    { role: "user", parts: [{ type: "text", text: "Refund my order." }] },
    { role: "assistant", parts: [{ type: "step-start" }, call] },
    { role: "user", parts: [{ type: "text", text: "Why not?" }] }
  ])
  const parts = messages.flatMap(({ content }) => content)
  const output = parts.find(({ type }) => type === "tool-result")?.output
  const told = output ? `${output.type} ${JSON.stringify(output.reason ?? output.value)}` : "no result"
  console.log(`${`${what}:`.padEnd(29)} ${told}`)
  return told
}
const seen = [
  await go("answered", { state: "approval-responded" }),
  await go("end state", { state: "output-denied" }),
  await go("end state, provider runs it", { state: "output-denied", providerExecuted: true })
]
console.log(`${"guess:".padEnd(29)} execution-denied "not this week" each time`)
const expected = ['execution-denied "not this week"', 'error-text "not this week"', "no result"]
if (seen.join() !== expected.join()) {
  console.error("No longer so: what a model reads of a refused call has changed.")
  process.exit(1)
}
END
node look.mjs
