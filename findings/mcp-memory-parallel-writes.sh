#!/usr/bin/env bash
# Twenty calls at once of the official memory server, @modelcontextprotocol/server-memory 2026.8.31.
# Each adds an entity of its own, as the parallel calls of one turn of a model do. One client, one connection.
# One would guess that all are kept, because the server is one process and answers each call with what it stored.
# Seen: all twenty are answered with the entity as created, and one is in the graph afterwards. One after the other, all are kept.
# A runtime that runs the calls of a turn in parallel has to call such a server one at a time.
# Source: createEntities in dist/index.js of the package reads the whole file, adds to it, and writes the whole file, with awaits
# between and no lock.
# Output, 2026-12-01 (how many are kept of twenty at once is a matter of timing):
#   20 at once:            20 answered as created, 1 kept
#   one after the other:   20 answered as created, 20 kept
#   guess: 20 kept of both
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/client@2.4.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"

const bin = "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
const orders = Array.from({ length: 20 }, (_, n) => `order ${n}`)
const go = async (what, file, add) => {
  const client = new Client({ name: "finding", version: "1.0.0" })
  const env = { ...process.env, MEMORY_FILE_PATH: `${process.cwd()}/${file}` }
  const server = { command: process.execPath, args: [bin], env, stderr: "ignore" }
  await client.connect(new StdioClientTransport(server))
  const answers = await add((name) =>
    client.callTool({
      name: "create_entities",
      arguments: { entities: [{ name, entityType: "order", observations: ["paid"] }] }
    })
  )
  const graph = await client.callTool({ name: "read_graph", arguments: {} })
  await client.close()
  const created = answers.filter((answer) => answer.structuredContent.entities.length === 1).length
  const kept = graph.structuredContent.entities.length
  console.log(`${`${what}:`.padEnd(22)} ${created} answered as created, ${kept} kept`)
  return { created, kept }
}
const atOnce = await go("20 at once", "at-once.jsonl", (add) => Promise.all(orders.map(add)))
const inTurn = await go("one after the other", "in-turn.jsonl", async (add) => {
  const answers = []
  for (const order of orders) answers.push(await add(order))
  return answers
})
console.log("guess: 20 kept of both")
if (atOnce.created !== 20 || atOnce.kept === 20 || inTurn.created !== 20 || inTurn.kept !== 20) {
  console.error("No longer so: calls at once are all kept, or refused.")
  process.exit(1)
}
END
node look.mjs
