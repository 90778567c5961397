#!/usr/bin/env bash
# An exception frame in the event stream of @ai-sdk/amazon-bedrock 5.0.101, of a type that the provider does not list.
# One would guess that each frame whose :message-type is `exception` becomes a part of type `error`.
# Seen: five names do. Another, such as modelTimeoutException (of Bedrock's other stream, InvokeModelWithResponseStream), is
# checked as if it were a chunk, passes because every field of the chunk is optional, and is dropped:
# the turn ends early, and with no error.
# Source: dist/index.js of the package, createAmazonBedrockEventStreamResponseHandler and the chunk schema of doStream.
# Output, 2026-11-28:
#   throttlingException:   stream-start response-metadata text-start text-delta error finish(error)
#   modelTimeoutException: stream-start response-metadata text-start text-delta finish(other)
#   guess: both lines hold an error
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@ai-sdk/amazon-bedrock@5.0.101 @smithy/eventstream-codec@4.5.2 @smithy/util-utf8@4.5.2)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock"
import { EventStreamCodec } from "@smithy/eventstream-codec"
import { fromUtf8, toUtf8 } from "@smithy/util-utf8"

const codec = new EventStreamCodec(toUtf8, fromUtf8)
const frame = (kind, type, body) =>
  codec.encode({
    headers: {
      ":message-type": { type: "string", value: kind },
      [`:${kind}-type`]: { type: "string", value: type },
      ":content-type": { type: "string", value: "application/json" }
    },
    body: fromUtf8(JSON.stringify(body))
  })

const partsOf = async (exception) => {
  const body = Buffer.concat([
    frame("event", "messageStart", { role: "assistant" }),
    frame("event", "contentBlockDelta", { contentBlockIndex: 0, delta: { text: "half an" } }),
    frame("exception", exception, { message: "The model cannot go on." })
  ])
  const headers = { "content-type": "application/vnd.amazon.eventstream" }
  const fetch = async () => new Response(body, { headers })
  const bedrock = createAmazonBedrock({ region: "us-east-1", apiKey: "none", fetch })
  const prompt = [{ role: "user", content: [{ type: "text", text: "Hello" }] }]
  const { stream } = await bedrock("anthropic.claude-3-haiku-20240307-v1:0").doStream({ prompt })
  const parts = []
  for await (const part of stream) {
    parts.push(part.type === "finish" ? `finish(${part.finishReason.unified})` : part.type)
  }
  return parts.join(" ")
}

const known = await partsOf("throttlingException")
const other = await partsOf("modelTimeoutException")
console.log(`throttlingException:   ${known}`)
console.log(`modelTimeoutException: ${other}`)
console.log("guess: both lines hold an error")
if (!/ error /.test(known) || / error /.test(other)) {
  console.error("No longer so: an exception of a type that is not listed is an error too.")
  process.exit(1)
}
END
node look.mjs
