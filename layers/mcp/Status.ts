/**
 * A server and its tools for an operator.
 */
import type { McpServerStatus, McpToolStatus } from "../../src/mcp/McpServerStatus.ts"
import { targetOf } from "./McpConnection.ts"
import type { Offers } from "./Offers.ts"
import { offerStateOf } from "./Offers.ts"

const toolStatus = (
  offers: Offers,
  tool: string,
  keys: ReadonlyMap<string, string>
): McpToolStatus => {
  const offer = offers.listed?.get(tool)
  const key = keys.get(tool)
  const pin = offers.pins.get(tool)
  return {
    tool,
    ...(key === undefined ? undefined : { key }),
    ...offerStateOf(offers, tool),
    ...(pin === undefined ? undefined : { accepted_hash: pin.hash }),
    ...(offer === undefined || offer.problem !== undefined
      ? undefined
      : { offered_hash: offer.hash, offered: offer.definition })
  }
}

export const statusOf = (offers: Offers, keys: ReadonlyMap<string, string>): McpServerStatus => ({
  server: offers.server.namespace,
  target: targetOf(offers.server),
  state: offers.connection === undefined ? "reconnecting" : "connected",
  message: offers.connection === undefined ? offers.trouble : "",
  restarts: offers.restarts,
  ...(offers.connection?.protocol === undefined
    ? undefined
    : { protocol: offers.connection.protocol }),
  tools: [...new Set([...offers.pins.keys(), ...(offers.listed?.keys() ?? []), ...offers.awaited])]
    .filter((tool) => offers.server.only === undefined || offers.server.only.includes(tool))
    .sort()
    .map((tool) => toolStatus(offers, tool, keys))
})
