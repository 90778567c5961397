/**
 * Declarations of real servers for tests, and the processes of them that still run.
 */
import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire, stripTypeScriptTypes } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Effect, Layer, Logger } from "effect"
import * as StoredMcpPins from "../../layers/stores/StoredMcpPins.ts"
import { onRows } from "../contracts/OnRows.ts"
import * as ImportedMcpServers from "../../layers/mcp/ImportedMcpServers.ts"
import { McpServers } from "../../services/McpServers.ts"
import type { CallContext } from "../../src/tool/GovernedTool.ts"
import type { McpServer, McpStdioServer } from "../../src/mcp/McpServer.ts"
import { commandLine } from "../../src/mcp/McpServer.ts"
import * as H from "../runtime/Harness.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"
import { unobserved } from "../tool/CallContexts.ts"

/** A mark in every command line that this test process starts, so that its processes can be found. */
export const mark = `mark-${randomUUID()}`

/** Command lines of this machine that carry the mark. */
export const left = (): ReadonlyArray<string> =>
  execFileSync("ps", ["-A", "-o", "args="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(mark))

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** A directory that is deleted with the scope. */
export const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "troupe-mcp-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const require = createRequire(import.meta.url)

type More = Partial<McpStdioServer>

const node = (namespace: string, args: ReadonlyArray<string>, more?: More): McpStdioServer => ({
  namespace,
  transport: "stdio",
  program: process.execPath,
  args: [...args, mark],
  ...more
})

export const everything_script =
  require.resolve("@modelcontextprotocol/server-everything/dist/index.js")
export const everything = (more?: More) => node("everything", [everything_script, "stdio"], more)
export const filesystem = (root: string, more?: More) => {
  const server = node(
    "files",
    [require.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"), root],
    more
  )
  // The server needs each argument to be an existing directory, so the root's name is the mark.
  return { ...server, args: server.args!.slice(0, -1) }
}
export const memory = (file: string, more?: More) =>
  node("memory", [require.resolve("@modelcontextprotocol/server-memory/dist/index.js")], {
    env: { MEMORY_FILE_PATH: file },
    ...more
  })

/** Without its types: taking them out costs each of many processes more than all else of its start. */
const script = join(mkdtempSync(join(tmpdir(), "troupe-odd-")), "misbehaving.mjs")
const source = readFileSync(new URL("./misbehaving.ts", import.meta.url), "utf8")
writeFileSync(script, stripTypeScriptTypes(source))
process.once("exit", () => rmSync(dirname(script), { recursive: true, force: true }))

/** `file` holds the description of `look`; `file.log` takes what the server notes. */
export const misbehaving = (mode: string, file = "", more?: More) =>
  node("odd", [script, mode, file], more)

/** A file with the description of `look`, and its setter. */
export const described = Effect.map(directory, (path) => {
  const file = join(path, "description")
  const set = (text: string) => writeFileSync(file, text)
  set("Looks.")
  writeFileSync(`${file}.log`, "")
  return { file, set }
})

export const allowed = (...servers: ReadonlyArray<McpServer>) => ({
  servers,
  allow: {
    commands: servers.flatMap((server) =>
      server.transport === "stdio" ? [commandLine(server)] : []
    )
  }
})

/** A session's log is silent, except in the test that reads it. */
export const quiet = Logger.layer([])

/** Pins of one process. */
export const pins = onRows(StoredMcpPins.layer)

/** The servers over pins of their own. */
export const importing = (...servers: ReadonlyArray<McpServer>) => logged(quiet, ...servers)

/** The same, with this logger. */
export const logged = (logger: Layer.Layer<never>, ...servers: ReadonlyArray<McpServer>) =>
  ImportedMcpServers.layer(allowed(...servers)).pipe(Layer.provide(pins), Layer.provide(logger))

const context: CallContext = {
  ...unobserved,
  run: "00000000-0000-4000-8000-000000000000" as CallContext["run"],
  call: "0/1.0" as CallContext["call"],
  conversation: "c" as CallContext["conversation"],
  tenant: H.tenant,
  trace_id: "trace",
  principal: "alice",
  approved_by: undefined,
  roles: ["operator"],
  key: undefined
}

/** One call of a tool's body, as the gate makes it. */
export const callBody = Effect.fnUntraced(function* (
  key: string,
  args: unknown = {},
  preliminary: (value: unknown) => Effect.Effect<void> = () => Effect.void,
  stopped?: Effect.Effect<void>
) {
  const { tools } = yield* McpServers
  const tool = tools.find((each) => each.key === key)
  if (tool === undefined) return yield* Effect.die(new Error(`there is no ${key}`))
  const decoded = yield* tool.decode(args)
  const result = yield* handlerEffect(tool.handler, decoded, {
    toolCallId: "0/1.0",
    preliminary,
    stopped,
    call: context
  })
  return yield* tool.encode(result)
})

/** The status of one tool of the only server. */
export const statusOf = (tool: string) =>
  McpServers.use(({ status }) =>
    Effect.map(status, ([server]) => server?.tools.find((each) => each.tool === tool))
  )
