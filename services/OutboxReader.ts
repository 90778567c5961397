/**
 * Reads dead letters.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { DeadLetter, DeadLetterNotFound, DeadLetterStatus } from "../src/delivery/Outbox.ts"
import type { MessageId, Tenant } from "../src/Ids.ts"
import type { StoreError } from "./StoreError.ts"

export interface DeadLetterQuery {
  readonly tenant: Tenant
  readonly handler_name?: string | undefined
  /** Became dead letters at or after, and at or before, in ms since 1970. */
  readonly dead_from?: number | undefined
  readonly dead_to?: number | undefined
  /** Absent = `dead`. */
  readonly status?: DeadLetterStatus | undefined
  /** Those behind this one, which is the last of the page before. None where there is no such letter. */
  readonly after?: MessageId | undefined
  /** 1 to 500. */
  readonly limit: number
}

export class OutboxReader extends Context.Service<
  OutboxReader,
  {
    /** Newest first. */
    deadLetters(query: DeadLetterQuery): Effect.Effect<ReadonlyArray<DeadLetter>, StoreError>
    deadLetter(
      tenant: Tenant,
      event_id: string
    ): Effect.Effect<DeadLetter, DeadLetterNotFound | StoreError>
  }
>()("troupe/services/OutboxReader") {}
