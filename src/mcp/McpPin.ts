/**
 * Pins: which definition of an MCP server's tool was accepted, by whom and how. Another definition is not used until an operator
 * accepts it. And a server with its tools, as an operator sees them.
 */
import { Schema } from "effect"
import { McpDefinition } from "./McpTool.ts"

/** SHA-256 of the canonical JSON of a definition, in hexadecimal. */
const McpHash = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{64}$/, { description: "64 lower-case hexadecimal digits" })
)

/**
 * How a definition was accepted. `first_use`: at the server's first import. `listed`: its hash was in the operator's list.
 * `operator`: an operator accepted it by hand.
 */
export const McpAcceptance = Schema.Literals(["first_use", "listed", "operator"])
export type McpAcceptance = typeof McpAcceptance.Type

/** The accepted definition of one tool. Times are ms since 1970. */
export const McpPin = Schema.Struct({
  server: Schema.String,
  tool: Schema.String,
  hash: McpHash,
  definition: McpDefinition,
  accepted_by: Schema.String,
  accepted_at: Schema.Int,
  how: McpAcceptance
})
export interface McpPin extends Schema.Schema.Type<typeof McpPin> {}

/** One acceptance, which is kept forever. `old_hash` is null if the tool had no pin before. */
export const McpPinChange = Schema.Struct({
  server: Schema.String,
  tool: Schema.String,
  old_hash: Schema.NullOr(McpHash),
  new_hash: McpHash,
  accepted_by: Schema.String,
  accepted_at: Schema.Int,
  how: McpAcceptance
})
export interface McpPinChange extends Schema.Schema.Type<typeof McpPinChange> {}

/** Another acceptance came first: the pinned definition is not the one that this acceptance was to replace. */
export class McpPinConflict extends Schema.TaggedError<McpPinConflict>()("McpPinConflict", {
  /** The namespace of the server. */
  server: Schema.String,
  /** The tool's name at the server. */
  tool: Schema.String
}) {
  override get message(): string {
    return `another definition of "${this.tool}" of the MCP server "${this.server}" was accepted meanwhile`
  }
}

/** There is no such server, or it has no such tool. */
export class McpToolNotFound extends Schema.TaggedError<McpToolNotFound>()("McpToolNotFound", {
  /** The namespace of the server. */
  server: Schema.String,
  /** The tool's name at the server. */
  tool: Schema.String
}) {
  override get message(): string {
    return `there is no tool "${this.tool}" of an MCP server "${this.server}"`
  }
}

/** The server does not offer the definition that was to be accepted; `offered` is the hash of the one that it offers. */
export class McpDefinitionNotOffered extends Schema.TaggedError<McpDefinitionNotOffered>()(
  "McpDefinitionNotOffered",
  {
    /** The namespace of the server. */
    server: Schema.String,
    /** The tool's name at the server. */
    tool: Schema.String,
    /** The hash of the definition that was to be accepted. */
    hash: Schema.String,
    /** The hash of the definition that the server offers; null = none. */
    offered: Schema.NullOr(Schema.String)
  }
) {
  override get message(): string {
    return `the MCP server "${this.server}" does not offer this definition of "${this.tool}"`
  }
}

/**
 * The state of a tool of an MCP server.
 *
 * - `available`: it can be called.
 *
 * - `changed`: the server's definition differs from the accepted one.
 *
 * - `not_accepted`: it was never accepted.
 *
 * - `unseen`: its server has not been connected since the first start with it, so that its definition is not known.
 *
 * - `accepted`: it was accepted after the start, and is used from the next start on.
 *
 * - `gone`: the server no longer lists it.
 *
 * - `refused`: it cannot be used, because its name collides or its schema does not compile.
 */
export const McpToolState = Schema.Literals([
  "available",
  "changed",
  "not_accepted",
  "unseen",
  "accepted",
  "gone",
  "refused"
])
export type McpToolState = typeof McpToolState.Type

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
