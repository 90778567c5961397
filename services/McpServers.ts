/**
 * The MCP servers of one runtime: what they offer, what of it is accepted, and the tools that came of it. Owns
 * connections and acceptance; runs no tool but through the gate.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { NotEntitled } from "../src/approval/Approval.ts"
import type { InvalidInput } from "../src/entry/InvalidInput.ts"
import type { Principal } from "../src/Principal.ts"
import type { GovernedTool } from "../src/tool/GovernedTool.ts"
import type {
  McpDefinitionNotOffered,
  McpPin,
  McpPinChange,
  McpPinConflict,
  McpToolNotFound,
  McpToolState
} from "../src/tool/McpPin.ts"
import type { McpDefinition } from "../src/tool/McpTool.ts"
import type { StoreError } from "./StoreError.ts"

/** One tool of a server, for an operator. */
export interface McpToolStatus {
  /** The server's name of it. */
  readonly tool: string
  /** The registry's key; absent if it is not in the registry. */
  readonly key: string | undefined
  readonly state: McpToolState
  /** What is wrong and what would fix it; empty if it is available. */
  readonly message: string
  readonly accepted_hash: string | undefined
  /** What the server offers now: this is what `accept` takes. */
  readonly offered_hash: string | undefined
  readonly offered: McpDefinition | undefined
}

export interface McpServerStatus {
  readonly server: string
  /** The command line, or the origin of the URL. */
  readonly target: string
  readonly state: "connected" | "reconnecting"
  /** How often it was connected anew. */
  readonly restarts: number
  readonly protocol: string | undefined
  readonly tools: ReadonlyArray<McpToolStatus>
}

export class McpServers extends Context.Service<
  McpServers,
  {
    /** For a registry: every tool that has an accepted definition, and, closed, those that have none. */
    readonly tools: ReadonlyArray<GovernedTool>
    /** By namespace; their tools by name. */
    readonly status: Effect.Effect<ReadonlyArray<McpServerStatus>>
    /**
     * Accepts the definition that a server offers now, by its hash; for operators. Written down with who, when, the old
     * and the new hash. A tool whose accepted definition is another than the one at start is used from the next start on.
     */
    accept(
      server: string,
      tool: string,
      hash: string,
      by: Principal
    ): Effect.Effect<
      McpPin,
      | InvalidInput
      | McpToolNotFound
      | McpDefinitionNotOffered
      | McpPinConflict
      | NotEntitled
      | StoreError
    >
    /** Acceptances of one server, newest first; at most `limit` (up to 500). */
    history(server: string, limit: number): Effect.Effect<ReadonlyArray<McpPinChange>, StoreError>
  }
>()("troupe/services/McpServers") {}
