/** An MCP server and its tools, as an operator sees them. */
import { Schema } from "effect"
import { McpToolState } from "./McpPin.ts"
import { McpDefinition } from "./McpTool.ts"

/** One tool of a server. */
export const McpToolStatus = Schema.Struct({
  /** The tool's name at the server. */
  tool: Schema.String,
  /** The registry's key; absent if it is not in the registry. */
  key: Schema.optionalKey(Schema.String),
  state: McpToolState,
  /** What is wrong and what would fix it; empty if it is available. */
  message: Schema.String,
  accepted_hash: Schema.optionalKey(Schema.String),
  /** The hash of the definition that the server offers now, which `accept` takes. */
  offered_hash: Schema.optionalKey(Schema.String),
  offered: Schema.optionalKey(McpDefinition)
})
export interface McpToolStatus extends Schema.Schema.Type<typeof McpToolStatus> {}

export const McpServerStatus = Schema.Struct({
  server: Schema.String,
  /** The command line, or the origin of the URL. */
  target: Schema.String,
  state: Schema.Literals(["connected", "reconnecting"]),
  /** Why it is not connected; empty if it is. */
  message: Schema.String,
  /** How often it was reconnected. */
  restarts: Schema.Int,
  protocol: Schema.optionalKey(Schema.String),
  tools: Schema.Array(McpToolStatus)
})
export interface McpServerStatus extends Schema.Schema.Type<typeof McpServerStatus> {}
