/**
 * The transactional queue: what was written with a business change and is delivered after it. Owns order per key, leases
 * and dead letters; knows no handler.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { NewOutboxMessage, OutboxMessage } from "../src/delivery/Outbox.ts"
import type { MessageId, Tenant } from "../src/Ids.ts"
import type { StoreError } from "./TaskStore.ts"

/** What a process can deliver. */
export interface OutboxRoutes {
  /** Only these topics: a message without a handler waits. */
  readonly topics: ReadonlyArray<string>
  /** Messages for these agents, and those that are for none; what is for another agent waits for its host. Absent = none. */
  readonly agents?: ReadonlyArray<string>
}

export interface OutboxClaim extends OutboxRoutes {
  readonly owner: string
  /** 1 to 500. */
  readonly limit: number
  /** How long the claim holds, in ms; then another owner may take the message. */
  readonly lease_ms: number
  /** The tenant that was served last: those behind it by name come first, once around. Absent = from the first. */
  readonly after?: Tenant | undefined
  /** The most for one tenant; of those in `rooms` what stands there. Absent = `limit`. */
  readonly room?: number
  readonly rooms?: ReadonlyMap<Tenant, number>
}

export class Outbox extends Context.Service<
  Outbox,
  {
    /** Joins the ambient transaction, if there is one. An id that is known is left alone. */
    enqueue(messages: ReadonlyArray<NewOutboxMessage>): Effect.Effect<void, StoreError>
    /**
     * The heads of free keys that are due, one message a key. Tenants take turns, each with its oldest; so one with
     * thousands of messages delays another's by one of its own. Counts the attempt.
     */
    claim(claim: OutboxClaim): Effect.Effect<ReadonlyArray<OutboxMessage>, StoreError>
    /** Gives back what these claims hold, as if it had not been claimed: their answers were lost, and nobody works on it. */
    release(owners: ReadonlyArray<string>): Effect.Effect<void, StoreError>
    /** Removes a delivered message. False if the lease had passed to another owner. */
    delivered(id: MessageId, owner: string): Effect.Effect<boolean, StoreError>
    /** Gives a message back: to be tried at `retry_at` (ms), or, without one, as a dead letter. */
    failed(
      id: MessageId,
      owner: string,
      error: string,
      retry_at: number | undefined
    ): Effect.Effect<boolean, StoreError>
    /** Messages that wait, due or not. */
    depth: Effect.Effect<number, StoreError>
    /** When the next message of these routes is due, in ms since 1970; undefined if none waits. */
    nextDueAt(routes: OutboxRoutes): Effect.Effect<number | undefined, StoreError>
    /** Calls back when messages were written, in this process or another, until the scope closes. */
    written(listener: () => void): Effect.Effect<void, StoreError, Scope.Scope>
  }
>()("troupe/services/Outbox") {}
