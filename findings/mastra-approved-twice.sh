#!/usr/bin/env bash
# Two people approve the same call in @mastra/core 1.71.0.
# A tool with `requireApproval` is called, and the run is suspended in its store. Two people, each with the question on the screen,
# approve it at the same time; or one person does, and the second one after that.
# One would guess that the first approval is used and the second refused, as it is when it comes later.
# Seen: at the same time both are accepted and the tool's body runs twice, so that a refund is paid twice. Each caller gets an
# ordinary end. One after the other, the second is refused, because no suspended run is found.
# Source: #loadAgenticLoopSnapshotOrThrow of the class Agent in dist of @mastra/core looks whether a suspended snapshot is stored,
# and the run goes on from what it read; no step claims the snapshot first.
# Output, 2026-11-29:
#   at the same time:     ran 2   accepted,accepted
#   one after the other:  ran 1   accepted,refused
#   guess: ran 1 and one refused in both
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@mastra/core@1.71.0 @mastra/libsql@1.23.1 zod@4.6.7)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'EOF'
import { Mastra } from "@mastra/core"
import { Agent } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { LibSQLStore } from "@mastra/libsql"
import { z } from "zod"

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
const call = { type: "tool-call", toolCallId: "1", toolName: "refund", input: '{"order":"17"}' }
/** Calls the tool, and ends once it sees a result. */
const model = {
  specificationVersion: "v2",
  provider: "none",
  modelId: "none",
  supportedUrls: {},
  doGenerate: async ({ prompt }) => {
    const isCalled = prompt.some(({ role }) => role === "tool")
    const content = [isCalled ? { type: "text", text: "done" } : call]
    return { content, finishReason: isCalled ? "stop" : "tool-calls", usage, warnings: [] }
  }
}

let stores = 0
const go = async (what, approve) => {
  let ran = 0
  const refund = createTool({
    id: "refund",
    description: "Pays back.",
    inputSchema: z.object({ order: z.string() }),
    requireApproval: true,
    execute: async () => ({ receipt: ++ran })
  })
  const agents = { desk: new Agent({ id: "desk", name: "desk", instructions: "Help.", model, tools: { refund } }) }
  const storage = new LibSQLStore({ id: "store", url: `file:store-${++stores}.db` })
  const desk = new Mastra({ agents, storage, logger: false }).getAgent("desk")
  const { finishReason, runId } = await desk.generate("Refund order 17.")
  if (finishReason !== "suspended") throw new Error(`the run was not suspended but ${finishReason}`)
  const decide = () => desk.approveToolCallGenerate({ runId, toolCallId: "1" }).then(() => "accepted", () => "refused")
  const answers = await approve(decide)
  console.log(`${`${what}:`.padEnd(21)} ran ${ran}   ${answers.join()}`)
  return `${ran} ${answers.join()}`
}
const seen = [
  await go("at the same time", (decide) => Promise.all([decide(), decide()])),
  await go("one after the other", async (decide) => [await decide(), await decide()])
]
console.log("guess: ran 1 and one refused in both")
if (seen.join("; ") !== "2 accepted,accepted; 1 accepted,refused") {
  console.error("No longer so: what two approvals of one call do has changed.")
  process.exit(1)
}
process.exit(0)
EOF
node look.mjs
