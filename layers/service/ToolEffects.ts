/** Tools that others run. A service without MCP servers has none of which anything could be accepted. */
import { Effect, Option } from "effect"
import { McpServers } from "../../services/McpServers.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { McpToolNotFound } from "../../src/mcp/McpPin.ts"
import * as ToolOperations from "../../src/operation/ToolOperations.ts"
import { discoverOffers } from "../../src/queue/ToolOffer.ts"
import { serve } from "./Served.ts"

export const workers = serve(ToolOperations.workers, () =>
  Effect.map(
    ToolQueue.use((queue) => queue.list()),
    (offers) => ({ items: discoverOffers(offers) })
  )
)

export const servers = serve(
  ToolOperations.servers,
  Effect.fnUntraced(function* () {
    const known = yield* Effect.serviceOption(McpServers)
    return { items: Option.isNone(known) ? [] : yield* known.value.status }
  })
)

export const accept = serve(
  ToolOperations.accept,
  Effect.fnUntraced(function* ({ hash, server, tool }, by) {
    const known = yield* Effect.serviceOption(McpServers)
    if (Option.isNone(known)) return yield* new McpToolNotFound({ server, tool })
    return yield* known.value.accept(server, tool, hash, by)
  })
)
