#!/usr/bin/env bash
# One answer to two open questions in ai 7.0.173.
# A turn of the model calls a tool twice, and the tool needs approval. The first question is answered, the second is not yet.
# One would guess that the SDK waits for both answers, or runs the approved call and hands its result back.
# Seen: generateText runs the approved call, then throws AI_MissingToolResultsError because the other call has no result.
# What the tool gave is in no message and not in the error. Asked again with both answers, the SDK runs the first call again.
# If each answer came as a tool message of its own, only the last message's answers count: the second call runs, the first
# does not, and the same error is thrown.
# Source: collectToolApprovals in src/generate-text/collect-tool-approvals.ts of the package reads the last message alone;
# generateText in src/generate-text/generate-text.ts runs what it lists before the prompt is made; the prompt is checked after it.
# Output, 2026-11-29:
#   one of two answered:       ran 1    AI_MissingToolResultsError
#   then both in one message:  ran 1,2  text
#   a message for each answer: ran 2    AI_MissingToolResultsError
#   guess: nothing runs before both are answered, or the result is kept
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
import { generateText, tool } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { z } from "zod"

const model = new MockLanguageModelV4({
  doGenerate: async () => ({
    content: [{ type: "text", text: "done" }],
    finishReason: { unified: "stop", raw: "stop" },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    warnings: []
  })
})
const ids = ["1", "2"]
const asked = {
  role: "assistant",
  content: [
    ...ids.map((id) => ({ type: "tool-call", toolCallId: id, toolName: "refund", input: { order: id } })),
    ...ids.map((id) => ({ type: "tool-approval-request", approvalId: `question-${id}`, toolCallId: id }))
  ]
}
const answers = (...of) => ({
  role: "tool",
  content: of.map((id) => ({ type: "tool-approval-response", approvalId: `question-${id}`, approved: true }))
})
const go = async (what, ...messages) => {
  const ran = []
  const refund = tool({
    inputSchema: z.object({ order: z.string() }),
    needsApproval: true,
    execute: ({ order }) => {
      ran.push(order)
      return `refund of ${order} booked`
    }
  })
  const end = await generateText({
    model,
    tools: { refund },
    messages: [{ role: "user", content: "Refund both orders." }, asked, ...messages]
  }).then(
    () => "text",
    (error) => error.name
  )
  console.log(`${`${what}:`.padEnd(26)} ran ${ran.join().padEnd(4)} ${end}`)
  return `${ran.join()} ${end}`
}
const seen = [
  await go("one of two answered", answers("1")),
  await go("then both in one message", answers("1", "2")),
  await go("a message for each answer", answers("1"), answers("2"))
]
console.log("guess: nothing runs before both are answered, or the result is kept")
const expected = ["1 AI_MissingToolResultsError", "1,2 text", "2 AI_MissingToolResultsError"]
if (seen.join("; ") !== expected.join("; ")) {
  console.error("No longer so: what one answer of two does has changed.")
  process.exit(1)
}
END
node look.mjs
