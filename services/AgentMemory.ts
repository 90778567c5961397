/**
 * What one actor remembers. Each address has its own; two never share one.
 */
import { Context } from "effect"
import type { Effect } from "effect"

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
