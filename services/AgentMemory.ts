/**
 * The memory of one actor. Every address of a tenant has a memory of its own.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { Address, Tenant } from "../src/Ids.ts"

export interface Memory {
  readonly text: string
  /** ms since 1970. */
  readonly at: number
}

export class AgentMemory extends Context.Service<
  AgentMemory,
  {
    /** At most 1,000 are kept, oldest dropped first. */
    remember(text: string): Effect.Effect<void>
    /** Newest first; at most `limit`. */
    recall(limit: number): Effect.Effect<ReadonlyArray<Memory>>
  }
>()("troupe/services/AgentMemory") {}

/** The memories of all actors: one per address of a tenant, released when the last scope that uses it closes. */
export class AgentMemories extends Context.Service<
  AgentMemories,
  {
    /** Built on first use; held until the scope closes. */
    get(
      tenant: Tenant,
      address: Address
    ): Effect.Effect<Context.Context<AgentMemory>, never, Scope.Scope>
  }
>()("troupe/services/AgentMemories") {}
