/**
 * A runtime that imports no tools of MCP servers.
 */
import { Effect, Layer } from "effect"
import { McpServers } from "../../services/McpServers.ts"
import * as Entries from "../../src/entry/Entries.ts"
import { McpToolNotFound } from "../../src/tool/McpPin.ts"

export const layer: Layer.Layer<McpServers> = Layer.succeed(
  McpServers,
  McpServers.of({
    tools: [],
    status: Effect.succeed([]),
    accept: (server, tool, _, by) =>
      Effect.andThen(
        Entries.entitled(by, "acceptMcpTool"),
        Effect.fail(new McpToolNotFound({ server, tool }))
      ),
    history: () => Effect.succeed([])
  })
)
