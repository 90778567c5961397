/** The operations on tools that others run: workers, and MCP servers with the definitions that are accepted of them. */
import { Schema } from "effect"
import { Name, Word } from "../entry/ArgumentReaders.ts"
import { McpPin, McpServerStatus } from "../mcp/McpPin.ts"
import { ToolListing } from "../tool/Registry.ts"
import { operation } from "./Operation.ts"

export const workers = operation({
  id: "workers",
  name: "workerTools",
  method: "GET",
  path: "/v1/worker-tools",
  success: Schema.Struct({ items: Schema.Array(ToolListing) }),
  right: "inspect",
  gives: "items",
  summary: "Tools that workers offer to run, by name"
})

export const servers = operation({
  id: "servers",
  name: "mcpServers",
  method: "GET",
  path: "/v1/mcp-servers",
  success: Schema.Struct({ items: Schema.Array(McpServerStatus) }),
  right: "acceptMcpTool",
  gives: "items",
  summary: "MCP servers, what they offer, and what of it is accepted"
})

export const accept = operation({
  id: "accept",
  name: "acceptMcpTool",
  method: "POST",
  path: "/v1/mcp-servers/accept",
  payload: Schema.Struct({ server: Word, tool: Name, hash: Word }),
  success: McpPin,
  problems: [404, 409],
  right: "acceptMcpTool",
  args: ["server", "tool", "hash"],
  summary: "Accept the definition that a server offers now, by its hash",
  description: "For all tenants of the store. It is used from the next start on."
})
