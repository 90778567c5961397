/**
 * The tools that one server offers, and which of them may be used. The server's tools read this state; only its session changes
 * it.
 */
import { createHash } from "node:crypto"
import type { Deferred, Latch } from "effect"
import { Result } from "effect"
import type { ToolError } from "../../src/error/ToolError.ts"
import { ToolPolicyError, ToolTerminalError, ToolUserError } from "../../src/error/ToolError.ts"
import type { McpPin, McpServerStatus, McpToolState, McpToolStatus } from "../../src/mcp/McpPin.ts"
import type { McpServer } from "../../src/mcp/McpServer.ts"
import type { McpDefinition } from "../../src/mcp/McpTool.ts"
import { definitionOf, listedName, pinnedText, toolName } from "../../src/mcp/McpTool.ts"
import { isObject } from "../../src/value/PlainObject.ts"
import type { McpConnection } from "./McpConnection.ts"
import { targetOf } from "./McpConnection.ts"
import type { Place } from "./McpCredentials.ts"
import { serverDown } from "./McpFailure.ts"
import type { McpServerUnavailable } from "./McpUnavailable.ts"

/** One listed tool: its definition and the definition's hash, or why it cannot be used. */
type Offer =
  | { readonly definition: McpDefinition; readonly hash: string; readonly problem?: undefined }
  | { readonly problem: string }

/** The state of one server. `pins` are the definitions accepted now, `started` those of the registry's tools. */
export interface Offers extends Place {
  connection: McpConnection | undefined
  /** The attempt to connect that is under way, or the next one; done while there is a connection. */
  attempt: Deferred.Deferred<McpConnection, McpServerUnavailable>
  /** Opened by a call, so that the next attempt to connect is made soon. */
  readonly wanted: Latch.Latch
  /** Why it was not connected the last time, without secrets. */
  trouble: string
  /** How often in a row it was not connected, or was lost before it answered a call. */
  failures: number
  /** The listed tools, by the server's names; undefined until the first listing. */
  listed: ReadonlyMap<string, Offer> | undefined
  pins: ReadonlyMap<string, McpPin>
  started: ReadonlyMap<string, McpPin>
  /** Tools of the registry whose definitions were not known at the start; each opens when the server is connected. */
  readonly awaited: Set<string>
  /** Tools of the registry that cannot be called, by the server's names. */
  refused: ReadonlyMap<string, string>
  restarts: number
}

const hashOf = (definition: McpDefinition): string =>
  createHash("sha256").update(pinnedText(definition)).digest("hex")

const offerOf = (tool: unknown): Offer => {
  // A value that nests deeper than the stack allows is refused like any other that cannot be read.
  const read = Result.try(() => {
    const definition = definitionOf(tool)
    return Result.map(definition, (definition) => ({ definition, hash: hashOf(definition) }))
  })
  if (Result.isFailure(read)) return { problem: "the definition cannot be read" }
  if (Result.isFailure(read.success)) return { problem: read.success.failure }
  const execution = isObject(tool) ? tool["execution"] : undefined
  const needsTask = isObject(execution) && execution["taskSupport"] === "required"
  return needsTask
    ? { problem: "it can only be run as a task, which is not supported" }
    : read.success.success
}

/** The tools of a list that can be imported, by the server's names, each once. */
export const offersOf = (
  server: McpServer,
  tools: ReadonlyArray<unknown>
): ReadonlyMap<string, Offer> => {
  const offers = new Map<string, Offer>()
  for (const tool of tools) {
    const name = listedName(tool)
    if (server.only !== undefined && !server.only.includes(name)) continue
    offers.set(name, offers.has(name) ? { problem: "the server lists it twice" } : offerOf(tool))
  }
  return offers
}

/** The registry's name for a tool: the operator's, else the server's, converted to a legal name. */
export const nameOf = (server: McpServer, tool: string): string => {
  const declared = server.tools !== undefined && Object.hasOwn(server.tools, tool)
  return (declared ? server.tools?.[tool]?.name : undefined) ?? toolName(tool)
}

/** Tools of a server whose names in the registry would collide, with the reason: none of them is imported. */
export const collisions = (
  server: McpServer,
  tools: Iterable<string>
): ReadonlyMap<string, string> => {
  const byName = new Map<string, Array<string>>()
  for (const tool of tools) {
    const name = nameOf(server, tool)
    byName.set(name, [...(byName.get(name) ?? []), tool])
  }
  return new Map(
    [...byName].flatMap(([name, all]) =>
      all.length === 1
        ? []
        : all.map(
            (tool) =>
              [
                tool,
                `${all.map((each) => JSON.stringify(each)).join(" and ")} would both be "${name}": give one another name in tools`
              ] as const
          )
    )
  )
}

export interface OfferState {
  readonly state: McpToolState
  /** The reason why the tool is not available, and the fix; empty if it is available. */
  readonly message: string
}

const available: OfferState = { state: "available", message: "" }

export const offerStateOf = (offers: Offers, tool: string): OfferState => {
  const { namespace } = offers.server
  const refused = offers.refused.get(tool)
  if (refused !== undefined) return { state: "refused", message: refused }
  const offer = offers.listed?.get(tool)
  if (offer?.problem !== undefined) return { state: "refused", message: offer.problem }
  const pin = offers.pins.get(tool)
  const started = offers.started.get(tool)
  if (offers.listed === undefined && offers.awaited.has(tool)) {
    return {
      state: "unseen",
      message: `the MCP server "${namespace}" has not been connected yet`
    }
  }
  if (offers.listed !== undefined && offer === undefined) {
    return { state: "gone", message: `the MCP server "${namespace}" does not list "${tool}"` }
  }
  if (pin === undefined) {
    return {
      state: "not_accepted",
      message: `an operator has to accept "${tool}" of the MCP server "${namespace}"`
    }
  }
  if (offer !== undefined && offer.hash !== pin.hash) {
    return {
      state: "changed",
      message: `the MCP server "${namespace}" changed the definition of "${tool}"; an operator has to accept it`
    }
  }
  return started?.hash === pin.hash
    ? available
    : {
        state: "accepted",
        message: `the definition of "${tool}" was accepted and is used from the next start on`
      }
}

/** The error for a call of a tool that may not be called; undefined if it may. */
export const refusalOn = (offers: Offers, tool: string): ToolError | undefined => {
  const { message: why, state } = offerStateOf(offers, tool)
  const message = `${why}.`
  switch (state) {
    case "available":
      return undefined
    case "unseen":
      return serverDown(offers.server.namespace)
    case "changed":
      return new ToolPolicyError({ kind: "permission", reason: "MCP_DEFINITION_CHANGED", message })
    case "not_accepted":
    case "accepted":
      return new ToolPolicyError({ kind: "permission", reason: "MCP_NOT_ACCEPTED", message })
    case "gone":
      return new ToolUserError({ kind: "not_found", reason: "MCP_TOOL_GONE", message })
    case "refused":
      return new ToolTerminalError({ kind: "external", reason: "MCP_TOOL_REFUSED", message })
  }
}

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
