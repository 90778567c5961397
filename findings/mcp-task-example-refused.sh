#!/usr/bin/env bash
# A completed task as the Tasks specification of 2026-07-28 shows it, and @modelcontextprotocol/ext-tasks 0.2.2 over
# @modelcontextprotocol/client 2.4.0. The server answers with the bodies of "Example Message Flow" in
# specification/2026-07-28/tasks.md of modelcontextprotocol/ext-tasks; only the poll interval is shorter.
# One would guess that a server which follows the examples works with the official client of the same repository.
# Seen: the work is done, the client holds its result, and the call fails: the inlined `result` has no `resultType`.
# All three completed tasks in the specification are without it. The schema of the extension leaves `result` open, and so does the
# package's own GetTaskResultV2Schema, which takes the example. The core schema demands `resultType` of every Result, and the text
# says that `result` has the structure of a CallToolResult: so the examples are the sloppy half, and the client is strict.
# Source: resolveTerminalTaskResult (dist/client/task-protocol-v2.js, line 131) reads `result` by CallToolResultV2Schema.
# Output, 2026-12-01:
#   as in the example:  the schema takes it; task completed, call failed: Protocol value failed schema validation (resultType)
#   with resultType:    the schema takes it; task completed, call completed
#   guess:              task completed, call completed, both times
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
import { GetTaskResultV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2"

const protocolVersion = "2026-07-28"
const task = {
  taskId: "786512e2-9e0d-44bd-8f29-789f320fe840",
  createdAt: "2025-11-25T10:30:00Z",
  lastUpdatedAt: "2025-11-25T10:50:00Z",
  ttlMs: 3600000,
  pollIntervalMs: 50
}
const example = { content: [{ type: "text", text: "Hello, Luca!" }], isError: false }
let result = example
const listed = { resultType: "complete", ttlMs: 0, cacheScope: "private" }
const answers = {
  "server/discover": () => ({
    ...listed,
    supportedVersions: [protocolVersion],
    capabilities: { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } }
  }),
  "tools/list": () => ({
    ...listed,
    tools: [{ name: "hello_world", inputSchema: { type: "object" } }]
  }),
  "tools/call": () => ({ resultType: "task", ...task, status: "working" }),
  "tasks/get": () => ({ resultType: "complete", ...task, status: "completed", result })
}
const server = createServer(async (request, response) => {
  const { id, method } = JSON.parse(Buffer.concat(await request.toArray()))
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
const call = async (value) => {
  result = value
  const takes = GetTaskResultV2Schema.safeParse(answers["tasks/get"]()).success
  const execution = await session.callTool("hello_world", {})
  const { lastTask, outcome } = await execution.settle()
  // What the validator says lies two causes deep, in a union: what the first kind of result lacks.
  const path = outcome.error?.cause?.cause?.issues?.[0]?.errors?.[0]?.[0]?.path ?? []
  const why = outcome.error ? `: ${outcome.error.message} (${path.join(".")})` : ""
  return `the schema ${takes ? "takes" : "refuses"} it; task ${lastTask.status}, call ${outcome.status}${why}`
}
const bare = await call(example)
const typed = await call({ resultType: "complete", ...example })
console.log(`as in the example:  ${bare}`)
console.log(`with resultType:    ${typed}`)
console.log("guess:              task completed, call completed, both times")
await session.close()
await client.close()
server.close()
const done = "the schema takes it; task completed, call completed"
if (!bare.includes("task completed, call failed") || !bare.endsWith("(resultType)") || typed !== done) {
  console.error("No longer so: the client takes a completed task as the specification shows it.")
  process.exit(1)
}
END
node look.mjs
