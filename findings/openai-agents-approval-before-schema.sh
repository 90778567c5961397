#!/usr/bin/env bash
# When arguments are checked in @openai/agents 0.20.0.
# A tool that needs approval has a number as its parameter; the model calls it with a word in its place.
# One would guess that the call is refused before anybody is asked, and that the model is told which member is wrong.
# Seen: a person is asked to approve the call as it is, also where `needsApproval` is a function, which gets the word too.
# Approved, the body does not run, and the model is told no more than that an error occurred: neither the member nor the reason.
# Source: handleFunctionApproval in dist/runner/toolExecution.mjs of @openai/agents-core asks whether or not the arguments could
# be parsed by the tool's schema; the failure of the parse is looked at once the call is approved.
# Output, 2026-11-29:
#   needsApproval: true         asked 1   ran 0   model told: An error occurred while running the tool. Please try again.
#   needsApproval: () => true   asked 1   ran 0   model told: An error occurred while running the tool. Please try again.
#   guess: asked 0 in both, and the model is told which member is wrong
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@openai/agents@0.20.0 zod@4.6.7)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'EOF'
import { Agent, Runner, Usage, setTracingDisabled, tool } from "@openai/agents"
import { z } from "zod"

setTracingDisabled(true)
const call = { type: "function_call", callId: "1", name: "refund", arguments: '{"amount":"ten"}', status: "completed" }
const text = { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "done" }] }

const go = async (what, needsApproval) => {
  let ran = 0
  let told = ""
  const turns = [[call], [text]]
  const model = {
    getResponse: async ({ input }) => {
      const last = Array.isArray(input) ? input.at(-1) : undefined
      if (last?.type === "function_call_result") told = last.output.text
      return { usage: new Usage(), output: turns.shift(), responseId: "r" }
    }
  }
  const refund = tool({
    name: "refund",
    description: "Pays back.",
    parameters: z.object({ amount: z.number() }),
    needsApproval,
    execute: async () => (ran++, "paid")
  })
  const agent = new Agent({ name: "desk", model, tools: [refund] })
  const runner = new Runner()
  let result = await runner.run(agent, "Refund ten.")
  const asked = result.interruptions.length
  for (const question of result.interruptions) result.state.approve(question)
  if (asked > 0) result = await runner.run(agent, result.state)
  console.log(`${what.padEnd(27)} asked ${asked}   ran ${ran}   model told: ${told}`)
  return `${asked} ${ran} ${told.includes("amount")}`
}
const seen = [await go("needsApproval: true", true), await go("needsApproval: () => true", async () => true)]
console.log("guess: asked 0 in both, and the model is told which member is wrong")
if (seen.join("; ") !== "1 0 false; 1 0 false") {
  console.error("No longer so: when arguments are checked has changed.")
  process.exit(1)
}
EOF
node look.mjs
