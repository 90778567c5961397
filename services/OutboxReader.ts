/**
 * Reads dead letters, and what waits to be delivered.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type {
  DeadLetter,
  DeadLetterNotFound,
  DeadLetterStatus,
  DeliveryFailure
} from "../src/delivery/OutboxMessage.ts"
import type { MessageId, Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** Selects a page of dead letters. */
export interface DeadLetterQuery {
  /** Whose letters. */
  readonly tenant: Tenant
  /** The topic whose handler failed. Absent = any. */
  readonly handler_name?: string | undefined
  /** The key of the message. Absent = any. */
  readonly key?: string | undefined
  /** What the last failure begins with. Absent = any. */
  readonly error?: string | undefined
  /** Letters that became dead at or after `dead_from` and at or before `dead_to`, in ms since 1970. */
  readonly dead_from?: number | undefined
  /** Absent = up to now. */
  readonly dead_to?: number | undefined
  /** Absent = `dead`. */
  readonly status?: DeadLetterStatus | undefined
  /** Continue after this letter, the last one of the page before. If there is no such letter, the page is empty. */
  readonly after?: MessageId | undefined
  /** 1 to 500. */
  readonly limit: number
}

/** Messages of one topic that wait to be delivered, or are dead letters that nobody settled, without what they tell. */
export interface Undelivered {
  /** Their topic. */
  readonly topic: string
  /** How many there are. */
  readonly count: number
  /** How many of them failed before. */
  readonly failed: number
  /** When the oldest was written or, of dead letters, became one, in ms since 1970. */
  readonly oldest_at: number
  /** The last failure of any of them. Absent = none has failed. */
  readonly last_failure?: DeliveryFailure | undefined
}

/** Reads dead letters, and what waits to be delivered. */
export class OutboxReader extends Context.Service<
  OutboxReader,
  {
    /** Newest first. */
    deadLetters(query: DeadLetterQuery): Effect.Effect<ReadonlyArray<DeadLetter>, StoreError>
    /** The ids of the letters that match, in the same order; here the limit is at most 10,001. */
    matching(query: DeadLetterQuery): Effect.Effect<ReadonlyArray<MessageId>, StoreError>
    /**
     * What of a tenant waits to be delivered, by topic: of any 1,001 messages, so that more than 1,000 tell that there are more. With
     * `dead` the same of dead letters, the newest 1,001.
     */
    undelivered(
      tenant: Tenant,
      which?: "waiting" | "dead"
    ): Effect.Effect<ReadonlyArray<Undelivered>, StoreError>
    /** One letter. Fails with DeadLetterNotFound if the tenant has none with this id. */
    deadLetter(
      tenant: Tenant,
      event_id: string
    ): Effect.Effect<DeadLetter, DeadLetterNotFound | StoreError>
  }
>()("troupe/services/OutboxReader") {}
