/**
 * The transactional outbox: messages that are written in the transaction of a change and delivered after its commit. Owns
 * the order per key, leases and dead letters; knows no handler.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { NewOutboxMessage, OutboxMessage } from "../src/delivery/OutboxMessage.ts"
import type { MessageId, Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** The messages that a process can deliver. */
export interface OutboxRoutes {
  /** The topics that the process can deliver; a message with another topic waits. */
  readonly topics: ReadonlyArray<string>
  /** Only messages for these agents or for none; one for another agent waits for that agent's host. Absent = no agent. */
  readonly agents?: ReadonlyArray<string>
}

/** Which messages a process takes to deliver, how many and for how long. */
export interface OutboxClaim extends OutboxRoutes {
  /** The name of the claim's owner. */
  readonly owner: string
  /** 1 to 500. */
  readonly limit: number
  /** The lease of the claim, in ms. After it another owner may take the message. */
  readonly lease_ms: number
  /**
   * The tenant that was served last. Tenants take turns in the order of their names, starting with the one after it. Absent =
   * starting with the first.
   */
  readonly after?: Tenant | undefined
  /** The maximum number of messages of one tenant, unless `rooms` has another number for it. Absent = `limit`. */
  readonly room?: number
  /** The most messages of each of these tenants. */
  readonly rooms?: ReadonlyMap<Tenant, number>
}

/** Messages that are written with what they tell, and delivered at least once. */
export class Outbox extends Context.Service<
  Outbox,
  {
    /** Writes messages, in the ambient transaction if there is one. A message whose id exists already is ignored. */
    enqueue(messages: ReadonlyArray<NewOutboxMessage>): Effect.Effect<void, StoreError>
    /**
     * Claims the first message of each free key, where it is due, and counts the attempt. Tenants take turns, each with its
     * oldest message, so that a tenant with thousands of messages delays another tenant's by one message.
     */
    claim(claim: OutboxClaim): Effect.Effect<ReadonlyArray<OutboxMessage>, StoreError>
    /**
     * Releases the messages of these claims, as if they had never been claimed. For claims whose replies were lost, so that
     * nobody works on their messages.
     */
    release(owners: ReadonlyArray<string>): Effect.Effect<void, StoreError>
    /** Removes a delivered message. False = the lease had expired, and another owner has claimed the message. */
    delivered(id: MessageId, owner: string): Effect.Effect<boolean, StoreError>
    /**
     * Records a failed attempt: the message is tried again at `retry_at` (ms since 1970) or, if that is undefined, becomes a dead
     * letter.
     */
    failed(
      id: MessageId,
      owner: string,
      error: string,
      retry_at: number | undefined
    ): Effect.Effect<boolean, StoreError>
    /** How many messages wait, due or not. */
    depth: Effect.Effect<number, StoreError>
    /** When the next message of these routes is due, in ms since 1970; undefined = none waits. */
    nextDueAt(routes: OutboxRoutes): Effect.Effect<number | undefined, StoreError>
    /** Calls back when messages were written, in this process or another, until the scope closes. */
    onWritten(listener: () => void): Effect.Effect<void, StoreError, Scope.Scope>
  }
>()("troupe/services/Outbox") {}
