#!/usr/bin/env bash
# An answer of Gemini to @ai-sdk/google 4.0.121 whose usage has a detail of a modality without tokenCount.
# Protocol Buffers in JSON leave out a number that is zero unless told otherwise, so { "modality": "TEXT" } may stand for no tokens.
# One would guess that the count is optional like each of the totals beside it, or that a fault in a statistic does not cost the answer.
# Seen: the whole answer, text and all, is refused as invalid JSON, after it has been paid for.
# Source: dist/index.js of the package, tokenDetailsSchema: tokenCount is z.number(), without nullish().
# Output, 2026-11-28:
#   { modality: TEXT, tokenCount: 3 }: hello
#   { modality: TEXT }:                AI_APICallError, Invalid JSON response
#   guess: hello, twice
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@ai-sdk/google@4.0.121)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { createGoogle } from "@ai-sdk/google"

const answer = async (detail) => {
  const body = {
    candidates: [{ content: { role: "model", parts: [{ text: "hello" }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 3, totalTokenCount: 3, promptTokensDetails: [detail] }
  }
  const google = createGoogle({ apiKey: "none", fetch: async () => Response.json(body) })
  const prompt = [{ role: "user", content: [{ type: "text", text: "Hello" }] }]
  return google("gemini-2.5-flash")
    .doGenerate({ prompt })
    .then(
      ({ content }) => content[0].text,
      (error) => `${error.name}, ${error.message}`
    )
}
const counted = await answer({ modality: "TEXT", tokenCount: 3 })
const bare = await answer({ modality: "TEXT" })
console.log(`{ modality: TEXT, tokenCount: 3 }: ${counted}`)
console.log(`{ modality: TEXT }:                ${bare}`)
console.log("guess: hello, twice")
if (counted !== "hello" || !bare.startsWith("AI_APICallError")) {
  console.error("No longer so: a detail without tokenCount does not cost the answer.")
  process.exit(1)
}
END
node look.mjs
