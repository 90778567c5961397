/**
 * The accepted definitions of MCP servers' tools, and who accepted them. Stores the records; connects to no server.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { McpPin, McpPinChange, McpPinConflict } from "../src/mcp/McpPin.ts"
import type { StoreError } from "./StoreError.ts"

/** A pin that replaces the pin with the hash `replaces`; null = there must be no pin yet. */
export interface NewMcpPin {
  /** The new pin. */
  readonly pin: McpPin
  /** The hash of the pin that it replaces; null = there must be none. */
  readonly replaces: string | null
}

/** The accepted definitions of tools of MCP servers. */
export class McpPins extends Context.Service<
  McpPins,
  {
    /** The pins of one server, sorted by tool; at most 10,000. */
    of(server: string): Effect.Effect<ReadonlyArray<McpPin>, StoreError>
    /** Sets all of the pins and records each change, or sets none; at most 1,000 at once. */
    accept(pins: ReadonlyArray<NewMcpPin>): Effect.Effect<void, McpPinConflict | StoreError>
    /** Acceptances of one server, newest first; at most `limit` (up to 500). */
    history(server: string, limit: number): Effect.Effect<ReadonlyArray<McpPinChange>, StoreError>
  }
>()("troupe/services/McpPins") {}
