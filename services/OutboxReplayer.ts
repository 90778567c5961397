/**
 * Replays or discards dead letters. The reason is stored.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { DeadLetterNotFound, DeadLetterResolved } from "../src/delivery/OutboxMessage.ts"
import type { Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

export interface DeadLetterResolution {
  readonly tenant: Tenant
  readonly event_id: string
  /** The reason, which must not be empty. */
  readonly reason: string
  readonly by: string
}

export class OutboxReplayer extends Context.Service<
  OutboxReplayer,
  {
    /**
     * Appends the message to the end of its key's queue again, once and under the same id, in the ambient transaction if there is
     * one.
     */
    replay(
      resolution: DeadLetterResolution
    ): Effect.Effect<void, DeadLetterNotFound | DeadLetterResolved | StoreError>
    discard(
      resolution: DeadLetterResolution
    ): Effect.Effect<void, DeadLetterNotFound | DeadLetterResolved | StoreError>
  }
>()("troupe/services/OutboxReplayer") {}
