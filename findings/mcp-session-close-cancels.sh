#!/usr/bin/env bash
# A client that is closed while a task of the server goes on: @modelcontextprotocol/ext-tasks 0.2.2 over
# @modelcontextprotocol/client 2.4.0, revision 2026-07-28. Tasks are durable: their handle can be kept, and read by another session.
# One would guess that `session.close()`, which its README calls in `finally`, ends the session here, and that the task goes on.
# Seen: it sends `tasks/cancel` for each call that has not ended, whose outcome is then `failed`. So an orderly stop of a host cancels
# work that goes on where the host crashes. A call that was given up by `detach()` before is left alone.
# Source: the session's close calls TaskExecution.close (dist/client/execution.js, line 456), which cancels what it owns.
# Output, 2026-12-01:
#   closed:              1 cancel was sent, the call is failed
#   detached and closed: 0 cancels were sent
#   guess:               0 cancels were sent, both times
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
  "tasks/get": () => ({ resultType: "complete", ...task, status: "working" }),
  "tasks/cancel": () => ({ resultType: "complete" })
}
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
const begin = () => createTaskSessionFromClient(client, {
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
const sent = () => asked.filter((method) => method === "tasks/cancel").length
const wait = () => new Promise((resolve) => setTimeout(resolve, 200))

const detached = begin()
const left = await detached.callTool("pay", {})
await wait()
await left.detach()
await detached.close()
const before = sent()

const closed = begin()
const execution = await closed.callTool("pay", {})
const settled = execution.settle()
await wait()
await closed.close()
const { outcome } = await settled
console.log(`closed:              ${sent() - before} cancel was sent, the call is ${outcome.status}`)
console.log(`detached and closed: ${before} cancels were sent`)
console.log("guess:               0 cancels were sent, both times")
await client.close()
server.close()
if (sent() - before !== 1 || before !== 0 || outcome.status !== "failed") {
  console.error("No longer so: a session that is closed leaves tasks of the server alone.")
  process.exit(1)
}
END
node look.mjs
