#!/usr/bin/env bash
# A stream of AG-UI that ends within a text, @ag-ui/client 1.0.0.
# The server begins a run and a message, says half of it, and closes the response as a proxy does that is restarted: without an
# error, and without the event RUN_FINISHED.
# One would guess that runAgent rejects, since the client checks the order of events and refuses a run that goes on after its end.
# Seen: it resolves, and the half message is among the new messages of the run like any other.
# Source: verifyEvents of the package checks each event that comes; nothing looks at what was open when the stream completes.
# Output, 2026-12-01:
#   runAgent resolved with 1 message: "Your refund is"
#   guess: runAgent rejects
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@ag-ui/client@1.0.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { HttpAgent } from "@ag-ui/client"

console.debug = () => {}
const events = [
  { type: "RUN_STARTED", threadId: "chat", runId: "run" },
  { type: "TEXT_MESSAGE_START", messageId: "message", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "message", delta: "Your refund is" }
]
const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")
const agent = new HttpAgent({
  url: "http://shop.example/",
  threadId: "chat",
  fetch: async () => new Response(body, { headers: { "content-type": "text/event-stream" } })
})
const seen = await agent.runAgent({ runId: "run" }).then(
  ({ newMessages }) =>
    `resolved with ${newMessages.length} message: ${JSON.stringify(newMessages[0]?.content)}`,
  (error) => `rejected: ${error.message}`
)
console.log(`runAgent ${seen}`)
console.log("guess: runAgent rejects")
if (seen !== "resolved with 1 message: \"Your refund is\"") {
  console.error("No longer so: a run without an end rejects, or its half message is left out.")
  process.exit(1)
}
END
node look.mjs
