/**
 * Loads the official client, an optional peer, only if MCP servers are declared.
 */
import { Effect } from "effect"
import { McpClientMissing } from "./McpUnavailable.ts"

export type Sdk = typeof import("@modelcontextprotocol/client")

const missing = () =>
  new McpClientMissing({
    message:
      "tools of MCP servers need the package @modelcontextprotocol/client 2: npm install @modelcontextprotocol/client"
  })

export const load: Effect.Effect<Sdk, McpClientMissing> = Effect.tryPromise({
  try: () => import("@modelcontextprotocol/client"),
  catch: missing
})
