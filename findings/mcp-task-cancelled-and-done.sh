#!/usr/bin/env bash
# A task that is cancelled too late, and @modelcontextprotocol/ext-tasks 0.2.2 over @modelcontextprotocol/client 2.4.0.
# In the Tasks specification of 2026-07-28 a cancel is a request: the server acknowledges it, and the task may complete all the same.
# One would guess that the outcome of the call says what has become of the task.
# Seen: the outcome is `cancelled` as soon as the cancel is acknowledged, and the task is not asked for again; the last that is known
# of it is `working`. Asked by its id, the same session says that it completed. So a payment can be reported as cancelled and be made.
# Source: TaskExecution.cancel (dist/client/execution.js, line 433) settles the call when `tasks/cancel` is answered; a comment there
# says why: a server need never report `cancelled`, and the call would stay open.
# Output, 2026-12-01:
#   the call:        cancelled, last known as working, asked for 0 times after its cancel
#   the task itself: completed
#   guess:           the call waits for the end of the task, and is completed
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@modelcontextprotocol/ext-tasks@0.2.2 @modelcontextprotocol/client@2.4.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { once } from "node:events"
import { createServer } from "node:http"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client"

const protocolVersion = "2026-07-28"
const task = {
  taskId: "786512e2-9e0d-44bd-8f29-789f320fe840",
  createdAt: "2025-11-25T10:30:00Z",
  lastUpdatedAt: "2025-11-25T10:50:00Z",
  ttlMs: 3600000,
  pollIntervalMs: 50
}
const result = { resultType: "complete", content: [{ type: "text", text: "Paid." }] }
const listed = { resultType: "complete", ttlMs: 0, cacheScope: "private" }
const answers = {
  "server/discover": () => ({
    ...listed,
    supportedVersions: [protocolVersion],
    capabilities: { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } }
  }),
  "tools/list": () => ({
    ...listed,
    tools: [{ name: "pay", inputSchema: { type: "object" } }]
  }),
  "tools/call": () => ({ resultType: "task", ...task, status: "working" }),
  "tasks/get": () =>
    isDone
      ? { resultType: "complete", ...task, status: "completed", result }
      : { resultType: "complete", ...task, status: "working" },
  // The work has gone too far to be stopped, which the specification allows.
  "tasks/cancel": () => {
    isDone = true
    return { resultType: "complete" }
  }
}
let isDone = false
const asked = []
const server = createServer(async (request, response) => {
  const { id, method } = JSON.parse(Buffer.concat(await request.toArray()))
  asked.push(method)
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method]() }))
})
await once(server.listen(0, "127.0.0.1"), "listening")
const url = `http://127.0.0.1:${server.address().port}/`

const clientInfo = { name: "look", version: "1" }
const client = new Client(clientInfo, { versionNegotiation: { mode: { pin: protocolVersion } } })
await client.connect(new StreamableHTTPClientTransport(new URL(url)))
const session = createTaskSessionFromClient(client, {
  endpointId: "look",
  v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities: {} },
  rawDispatch: async ({ method, params }) => {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": protocolVersion,
      "mcp-method": method,
      "mcp-name": params.taskId ?? params.name
    }
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
    const response = await fetch(url, { method: "POST", headers, body })
    return { kind: "result", result: (await response.json()).result }
  }
})
const execution = await session.callTool("pay", {})
await new Promise((resolve) => setTimeout(resolve, 200))
await execution.cancel()
const { lastTask, outcome } = await execution.settle()
const after = asked.slice(asked.indexOf("tasks/cancel") + 1).length
const seen = `${outcome.status}, last known as ${lastTask.status}, asked for ${after} times after its cancel`
const { status } = await session.task(task.taskId).result()
console.log(`the call:        ${seen}`)
console.log(`the task itself: ${status}`)
console.log("guess:           the call waits for the end of the task, and is completed")
await session.close()
await client.close()
server.close()
if (!seen.startsWith("cancelled, last known as working, asked for 0") || status !== "completed") {
  console.error("No longer so: a call that was cancelled too late says what became of its task.")
  process.exit(1)
}
END
node look.mjs
