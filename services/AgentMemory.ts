/**
 * What one actor remembers. Each address of a tenant has its own; two never share one.
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

/** The memory Layer of each actor: one per address of a tenant, released when nobody holds it any more. */
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
