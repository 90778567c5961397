/**
 * The transactional outbox: messages that are written in the transaction of a change and delivered after its commit. Owns
 * the order per key, leases and dead letters; knows no handler.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { NewOutboxMessage, OutboxMessage } from "../src/delivery/Outbox.ts"
import type { MessageId, Tenant } from "../src/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** The messages that a process can deliver. */
export interface OutboxRoutes {
  /** Only these topics; a message of another topic waits. */
  readonly topics: ReadonlyArray<string>
  /** Only messages for these agents or for none; one for another agent waits for that agent's host. Absent = no agent. */
  readonly agents?: ReadonlyArray<string>
}

export interface OutboxClaim extends OutboxRoutes {
  readonly owner: string
  /** 1 to 500. */
  readonly limit: number
  /** How long the claim holds, in ms; after that another owner may take the message. */
  readonly lease_ms: number
  /** The tenant that was served last. Tenants take turns by name, from the one behind it. Absent = from the first. */
  readonly after?: Tenant | undefined
  /** The most messages of one tenant, unless `rooms` has another number for it. Absent = `limit`. */
  readonly room?: number
  readonly rooms?: ReadonlyMap<Tenant, number>
}

export class Outbox extends Context.Service<
  Outbox,
  {
    /** Writes messages, in the ambient transaction if there is one. A message whose id is known changes nothing. */
    enqueue(messages: ReadonlyArray<NewOutboxMessage>): Effect.Effect<void, StoreError>
    /**
     * Takes the heads of free keys that are due, one message a key, and counts the attempt. Tenants take turns, each with
     * its oldest message, so that a tenant with thousands of messages delays another's by one message.
     */
    claim(claim: OutboxClaim): Effect.Effect<ReadonlyArray<OutboxMessage>, StoreError>
    /**
     * Gives back what these claims hold, as if it had not been claimed. For claims whose answers were lost, so that nobody
     * works on what they took.
     */
    release(owners: ReadonlyArray<string>): Effect.Effect<void, StoreError>
    /** Removes a delivered message. False = the lease had passed, and another owner claimed it. */
    delivered(id: MessageId, owner: string): Effect.Effect<boolean, StoreError>
    /** Gives a message back: it is tried again at `retry_at` (ms since 1970), or, without one, is a dead letter. */
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
    written(listener: () => void): Effect.Effect<void, StoreError, Scope.Scope>
  }
>()("troupe/services/Outbox") {}
