/**
 * `troupe mcp`: what the MCP servers of an application offer, and accepting a definition that changed. It connects to the servers
 * that the module declares, over the pins of the store.
 */
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { McpServerStatus, McpToolStatus } from "../../src/mcp/McpPin.ts"
import type { McpOptions } from "../../src/mcp/McpServer.ts"
import { oneLine } from "../chat/View.ts"
import { loadApp } from "../command/AppModule.ts"
import { Refused } from "../command/Refused.ts"
import { inStore, place } from "./Operator.ts"
import { serve } from "./McpPipe.ts"
import { described } from "./WorkCommands.ts"

const app = Flag.String("app").pipe(
  Flag.withMetavar("FILE"),
  Flag.withDescription("a module that exports mcp, the option of start of troupe/embed")
)

const optionsOf = Effect.fnUntraced(function* (file: string) {
  const { mcp } = yield* loadApp(file)
  return mcp === undefined
    ? yield* new Refused({ message: `--app ${file} exports no mcp` })
    : { mcp: mcp as McpOptions }
})

const toolLines = ({ message, offered, offered_hash, state, tool }: McpToolStatus) => [
  `    ${state.padEnd(12)} ${oneLine(tool)}${message === "" ? "" : `  ${oneLine(message)}`}`,
  ...(state === "available" || offered_hash === undefined
    ? []
    : [`      offered ${offered_hash}`, `      ${oneLine(JSON.stringify(offered))}`])
]

const serverLines = ({ message, server, state, target, tools }: McpServerStatus) => [
  `${server}  ${state}  ${oneLine(target)}${message === "" ? "" : `  ${oneLine(message)}`}`,
  ...tools.flatMap(toolLines)
]

const list = Command.make("list", { ...place, app }, ({ app, ...rest }) =>
  inStore(
    rest,
    (troupe) => troupe.mcpServers(),
    (servers) => servers.flatMap(serverLines).join("\n") || "no servers",
    optionsOf(app)
  )
).pipe(described("Lists the servers of an application and the state of each of their tools."))

const word = (name: string, description: string) =>
  Argument.String(name).pipe(
    Argument.withMetavar(name.toUpperCase()),
    Argument.withDescription(description)
  )

const accept = Command.make(
  "accept",
  {
    ...place,
    app,
    server: word("server", "its namespace"),
    tool: word("tool", "the server's name for it"),
    hash: word("hash", "the hash of the offered definition, as troupe mcp list shows it")
  },
  ({ app, hash, server, tool, ...rest }) =>
    inStore(
      rest,
      (troupe, by) => troupe.acceptMcpTool(server, tool, hash, by),
      () =>
        `accepted ${oneLine(tool)} of ${oneLine(server)}: services use it from their next start on`,
      optionsOf(app)
    )
).pipe(described("Accepts the definition of a tool that a server offers now."))

export const mcpCommand = Command.make("mcp").pipe(
  Command.withDescription(
    "What the MCP servers of an application offer, and what is accepted; agents as such a server."
  ),
  Command.withSubcommands([list, accept, serve])
)
