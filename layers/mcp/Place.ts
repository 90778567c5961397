/** Where an MCP server is. */
import type { McpAllow, McpServer } from "../../src/mcp/McpServer.ts"
import type { Credentials } from "./McpCredentials.ts"

/** A server, where it may be reached, and what it is shown. */
export interface Place {
  readonly server: McpServer
  readonly allow: McpAllow
  readonly credentials: Credentials
}
