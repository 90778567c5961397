/**
 * The MCP servers of one runtime: the definitions that they offer, those that are accepted, and the resulting tools. Owns
 * connections and acceptance. Calls of the tools pass the gate like any others.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { NotEntitled } from "../src/principal/NotEntitled.ts"
import type { InvalidInput } from "../src/schema/InvalidInput.ts"
import type { Principal } from "../src/principal/Principal.ts"
import type { GovernedTool, MisdeclaredTool } from "../src/tool/GovernedTool.ts"
import type {
  McpDefinitionNotOffered,
  McpPin,
  McpPinChange,
  McpPinConflict,
  McpServerStatus,
  McpToolNotFound
} from "../src/mcp/McpPin.ts"
import type { StoreError } from "./StoreError.ts"

/** The MCP servers of this process: the states of their tools, and their acceptance. */
export class McpServers extends Context.Service<
  McpServers,
  {
    /** The tools for a registry: every tool with an accepted definition, and the others as closed tools. */
    readonly tools: ReadonlyArray<GovernedTool>
    /**
     * Closed tools under those of the names (`namespace.tool@1`, or a tool's name alone) that may be tools of a server that no
     * start has reached yet. They open when it is connected.
     */
    awaited(
      names: ReadonlyArray<string>
    ): Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool>
    /** Sorted by namespace; the tools of each server are sorted by name. */
    readonly status: Effect.Effect<ReadonlyArray<McpServerStatus>>
    /**
     * Accepts the definition that a server offers now, by its hash; for operators. Records who accepted it, when, and the
     * old and new hash. A definition that was accepted after the start is used from the next start on.
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
