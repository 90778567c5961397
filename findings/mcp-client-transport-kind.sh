#!/usr/bin/env bash
# A transport of one's own under @modelcontextprotocol/client 2.4.0, in the mode `auto`, to an older server over pipes that
# answers nothing before `initialize`. The client first asks `server/discover`; after a timeout it falls back on stdio, and fails on HTTP.
# One would guess that it asks the transport, or that a transport without HTTP counts as stdio.
# Seen: it looks for members that are named `pid` and `stderr`. The same pipe connects with both, even as null, and fails without.
# Source: dist/public-CvV4ZHkX.mjs of the package, detectProbeTransportKind and classifyProbeOutcome.
# Output, 2026-11-28:
#   without pid and stderr: REQUEST_TIMEOUT after server/discover
#   with both, as null:     connected after server/discover, initialize, notifications/initialized
#   guess: both are connected
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@modelcontextprotocol/client@2.4.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { Client } from "@modelcontextprotocol/client"

/** A pipe to a server that answers `initialize`, and is silent about what it does not know. */
class Pipe {
  sent = []
  async start() {}
  async send({ id, method, params }) {
    this.sent.push(method)
    if (method !== "initialize") return
    const result = {
      protocolVersion: params.protocolVersion,
      capabilities: {},
      serverInfo: { name: "older", version: "1" }
    }
    queueMicrotask(() => this.onmessage({ jsonrpc: "2.0", id, result }))
  }
  async close() {
    this.onclose?.()
  }
}
class PipeWithNames extends Pipe {
  pid = null
  stderr = null
}

const connect = async (transport) => {
  const versionNegotiation = { mode: "auto", probe: { timeoutMs: 300 } }
  const client = new Client({ name: "look", version: "1" }, { versionNegotiation })
  const how = await client.connect(transport).then(
    () => "connected",
    (error) => error.code
  )
  await client.close()
  return `${how} after ${transport.sent.join(", ")}`
}
const bare = await connect(new Pipe())
const named = await connect(new PipeWithNames())
console.log(`without pid and stderr: ${bare}`)
console.log(`with both, as null:     ${named}`)
console.log("guess: both are connected")
if (!bare.startsWith("REQUEST_TIMEOUT") || !named.startsWith("connected")) {
  console.error("No longer so: the fallback does not depend on members named pid and stderr.")
  process.exit(1)
}
END
node look.mjs
