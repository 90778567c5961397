/**
 * Replays or discards dead letters. The reason is stored.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { DeadLetterNotFound, DeadLetterResolved } from "../src/delivery/OutboxMessage.ts"
import type { Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** Which letter is sent again or given up, by whom and why. */
export interface DeadLetterResolution {
  /** Whose letter. */
  readonly tenant: Tenant
  /** The id of its message. */
  readonly event_id: string
  /** The reason, which must not be empty. */
  readonly reason: string
  /** The principal who says so. */
  readonly by: string
}

/** Sends dead letters again, or gives them up. */
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
    /** Gives the letter up: it is never sent again. */
    discard(
      resolution: DeadLetterResolution
    ): Effect.Effect<void, DeadLetterNotFound | DeadLetterResolved | StoreError>
  }
>()("troupe/services/OutboxReplayer") {}
