import { mkdtempSync, realpathSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { AgentSpec, Mcp } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const notes = realpathSync(mkdtempSync(join(tmpdir(), "notes-")))
writeFileSync(join(notes, "today.txt"), "buy bread")

const files: Mcp.McpStdioServer = {
  namespace: "files",
  transport: "stdio",
  program: process.execPath,
  args: [
    createRequire(import.meta.url).resolve("@modelcontextprotocol/server-filesystem/dist/index.js"),
    notes
  ],
  tools: { write_file: { permission: "ask" }, move_file: { permission: "deny" } }
}
const librarian = AgentSpec.make({
  name: "librarian",
  instructions: "Read the notes.",
  tools: ["files.read_text_file@1", "files.write_file@1"]
})
const model = scripted([
  call("read_text_file", { path: join(notes, "today.txt") }),
  text("Today: buy bread.")
])

const troupe = await start({
  agents: [librarian],
  model,
  mcp: { servers: [files], allow: { commands: [Mcp.commandLine(files)] } }
})
const { text: answer } = await troupe.ask({ agent: "librarian", text: "What is for today?" })
console.log(answer)
for (const { server, tools } of await troupe.mcpServers()) {
  console.log(server, tools.filter(({ state }) => state === "available").length, "tools")
}
await troupe.stop()

// Output:
// Today: buy bread.
// files 14 tools
