#!/usr/bin/env bash
# What the dry run of edit_file shows of a file with CRLF, @modelcontextprotocol/server-filesystem 2026.8.31.
# One word of one line is edited. The dry run's diff is what a person is shown before the edit is allowed.
# One would guess that the diff is what the edit does to the file, as of a patch: one line.
# Seen: the diff has that one line. The edit writes every line anew, with LF in the place of CRLF; no answer says so.
# Source: applyFileEdits in dist/lib.js of the package replaces CRLF in what it has read, makes the diff from that, and writes it.
# Output, 2026-12-01:
#   dry run:  1 line removed, 1 line added, the file is as it was
#   edit:     3 of 3 lines have other bytes: "name\nprice 12\nend\n"
#   guess:    1 of 3 lines has other bytes
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/client@2.4.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"

mkdirSync("files")
const root = realpathSync("files")
const path = `${root}/order.txt`
const before = "name\r\nprice 10\r\nend\r\n"
writeFileSync(path, before)
const bin = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
const client = new Client({ name: "finding", version: "1.0.0" })
await client.connect(
  new StdioClientTransport({ command: process.execPath, args: [bin, root], stderr: "ignore" })
)
const edit = async (dryRun) => {
  const edits = [{ oldText: "price 10", newText: "price 12" }]
  const answer = await client.callTool({ name: "edit_file", arguments: { path, edits, dryRun } })
  return answer.content[0].text.split("\n")
}
const shown = await edit(true)
const removed = shown.filter((line) => /^-[^-]/.test(line)).length
const added = shown.filter((line) => /^\+[^+]/.test(line)).length
const isSame = readFileSync(path, "utf8") === before
console.log(`dry run:  ${removed} line removed, ${added} line added, the file is ${isSame ? "as it was" : "changed"}`)
await edit(false)
await client.close()
const after = readFileSync(path, "utf8")
const lines = (text) => text.match(/.*?\n/gs)
const changed = lines(after).filter((line, at) => line !== lines(before)[at]).length
console.log(`edit:     ${changed} of 3 lines have other bytes: ${JSON.stringify(after)}`)
console.log("guess:    1 of 3 lines has other bytes")
if (removed !== 1 || added !== 1 || !isSame || changed !== 3) {
  console.error("No longer so: the dry run shows what the edit does, or the edit keeps line ends.")
  process.exit(1)
}
END
node look.mjs
