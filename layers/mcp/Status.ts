/**
 * A server and its tools for an operator.
 */
import type { McpServerStatus, McpToolStatus } from "../../services/McpServers.ts"
import { targetOf } from "./McpConnection.ts"
import type { Offers } from "./Offers.ts"
import { offerStateOf } from "./Offers.ts"

const toolStatus = (
  offers: Offers,
  tool: string,
  keys: ReadonlyMap<string, string>
): McpToolStatus => {
  const offer = offers.listed?.get(tool)
  return {
    tool,
    key: keys.get(tool),
    ...offerStateOf(offers, tool),
    accepted_hash: offers.pins.get(tool)?.hash,
    offered_hash: offer?.problem === undefined ? offer?.hash : undefined,
    offered: offer?.problem === undefined ? offer?.definition : undefined
  }
}

export const statusOf = (offers: Offers, keys: ReadonlyMap<string, string>): McpServerStatus => ({
  server: offers.server.namespace,
  target: targetOf(offers.server),
  state: offers.connection === undefined ? "reconnecting" : "connected",
  message: offers.connection === undefined ? offers.trouble : "",
  restarts: offers.restarts,
  protocol: offers.connection?.protocol,
  tools: [...new Set([...offers.pins.keys(), ...(offers.listed?.keys() ?? []), ...offers.awaited])]
    .filter((tool) => offers.server.only === undefined || offers.server.only.includes(tool))
    .sort()
    .map((tool) => toolStatus(offers, tool, keys))
})
