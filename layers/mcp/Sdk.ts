/**
 * The official client, an optional peer, loaded only where MCP servers are declared.
 */
import { Effect, Schema } from "effect"

export type Sdk = typeof import("@modelcontextprotocol/client")

/** `@modelcontextprotocol/client` is not installed, or is of an unsupported version. */
export class McpClientMissing extends Schema.TaggedError<McpClientMissing>()("McpClientMissing", {
  message: Schema.String
}) {}

const missing = () =>
  new McpClientMissing({
    message:
      "tools of MCP servers need the package @modelcontextprotocol/client 2: npm install @modelcontextprotocol/client"
  })

export const load: Effect.Effect<Sdk, McpClientMissing> = Effect.tryPromise({
  try: () => import("@modelcontextprotocol/client"),
  catch: missing
})
