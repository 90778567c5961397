/**
 * The layer for a runtime that imports no tools from MCP servers.
 */
import { Effect, Layer } from "effect"
import { McpServers } from "../../services/McpServers.ts"
import * as Entries from "../../src/entry/ArgumentReaders.ts"
import { McpToolNotFound } from "../../src/mcp/McpPin.ts"

export const layer: Layer.Layer<McpServers> = Layer.succeed(
  McpServers,
  McpServers.of({
    tools: [],
    awaited: () => Effect.succeed([]),
    status: Effect.succeed([]),
    accept: Effect.fn("McpServers.accept")(function* (given, which, text, who) {
      const server = yield* Entries.word(given, "server")
      const tool = yield* Entries.name(which, "tool")
      yield* Entries.word(text, "hash")
      yield* Entries.entitled(who, "acceptMcpTool")
      return yield* new McpToolNotFound({ server, tool })
    }),
    history: () => Effect.succeed([])
  })
)
