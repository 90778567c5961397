/**
 * A durable queue of tool calls: what is sent here is run by whoever claims it, in this process or another, at least
 * once. Owns leases, tries, the record of results, the calls that nobody could run and what workers offer; runs nothing
 * itself. The order at the consumer's end is execute, publish, acknowledge.
 */
import { Context, Schema } from "effect"
import type { Effect, Scope } from "effect"
import type { Json } from "../src/Canonical.ts"
import type { Tenant } from "../src/Ids.ts"
import type { ResultMessage } from "../src/semstreams/CallMessage.ts"
import type { ToolOffer } from "../src/tool/ToolOffer.ts"
import type { ToolSpec } from "../src/tool/ToolSpec.ts"
import type { StoreError } from "./TaskStore.ts"

/** Another call has this id: other arguments, another tool or another tenant. Nothing was queued. */
export class ToolMessageConflict extends Schema.TaggedError<ToolMessageConflict>()(
  "ToolMessageConflict",
  { id: Schema.String, message: Schema.String }
) {}

/** As many calls of this tool wait as may for one tenant. Nothing was queued. */
export class ToolQueueFull extends Schema.TaggedError<ToolQueueFull>()("ToolQueueFull", {
  tool: Schema.String,
  waiting_max: Schema.Int
}) {}

/** Calls of one tool and one tenant that may wait, with those that run: none takes the places of another. */
export const waiting_max = 10_000

export interface NewToolMessage {
  /** The call's id: the same at every sending. 1 to 200 printable characters; more dies, as in `tool`. */
  readonly id: string
  /** What the call is routed by: a registry key, or a plain name. */
  readonly tool: string
  readonly tenant: Tenant
  /** In ms since 1970: whoever gets it later lets it be. */
  readonly expires_at: number
  /** At most 1,000,000 characters as JSON; more dies. */
  readonly payload: Json
}

export interface ToolDelivery extends Omit<NewToolMessage, "payload"> {
  /** As it was stored: whoever runs it decodes it first. */
  readonly payload: unknown
  /** How often it was claimed, this claim with it. */
  readonly deliveries: number
  /** When an earlier claim said that it was about to act, in ms since 1970; the last of several. */
  readonly begun_at: number | undefined
  /** An earlier claim ran it and did not get as far as to acknowledge it. */
  readonly result: ResultMessage | undefined
}

export interface DeadToolMessage extends Omit<ToolDelivery, "begun_at" | "result"> {
  readonly error: string
  readonly dead_at: number
}

export interface ToolMessageState {
  /** `over` and `dead` have a result, unless who ended it could not say what became of it. */
  readonly status: "waiting" | "over" | "dead"
  readonly result: ResultMessage | undefined
}

export interface ToolClaim {
  /** A name of its own for each claim. */
  readonly owner: string
  readonly tools: ReadonlyArray<string>
  /** 1 to 500. */
  readonly limit: number
  /** The tenant that was served last: those behind it by name come first, once around. Absent = from the first. */
  readonly after?: Tenant | undefined
  /** How long nobody else gets them, in ms. */
  readonly lease_ms: number
}

/** What one worker runs. */
export interface Announcement extends Pick<ToolOffer, "worker" | "provider"> {
  /** At most 1,000, of at most 16,000,000 characters as JSON; more dies. */
  readonly tools: ReadonlyArray<ToolSpec>
  /** For how long it counts as available, in ms from now. */
  readonly lease_ms: number
}

export const announced_tools_max = 1_000
export const announced_length_max = 16_000_000

/** How long a worker that is gone is listed, in ms; less, as soon as another offers all that it did. */
export const gone_ms = 86_400_000

export class ToolQueue extends Context.Service<
  ToolQueue,
  {
    /**
     * Durable when it returns. An id that is known is not queued twice: the result is returned if there is one for good.
     * A result that leaves open what happened is taken away, and the call waits again: the sender wants it run again.
     */
    send(
      message: NewToolMessage
    ): Effect.Effect<ResultMessage | undefined, ToolMessageConflict | ToolQueueFull | StoreError>
    /** Waits for the result, without a bound of its own. Never ends for an id that nobody sends. */
    awaited(id: string): Effect.Effect<ResultMessage, StoreError>
    /** Where a call stands; undefined = it is not here: it was never sent, was taken back, or is forgotten by now. */
    look(id: string): Effect.Effect<ToolMessageState | undefined, StoreError>
    /** Takes back a call that nobody has claimed yet: true = it was not run and will not be. */
    withdraw(id: string): Effect.Effect<boolean, StoreError>
    /**
     * Calls that are due. Tenants take turns, each with its oldest; so one with thousands of calls delays another's by one
     * of its own. Counts the delivery.
     */
    claim(claim: ToolClaim): Effect.Effect<ReadonlyArray<ToolDelivery>, StoreError>
    /** Gives back what these claims hold, as if it had not been claimed: their answers were lost, and nobody works on it. */
    release(owners: ReadonlyArray<string>): Effect.Effect<void, StoreError>
    /** Writes down that the call is about to act. False, as below: another owner has it, and nothing may be done. */
    begin(id: string, owner: string): Effect.Effect<boolean, StoreError>
    /** Keeps the call for another `lease_ms` from now. */
    extend(id: string, owner: string, lease_ms: number): Effect.Effect<boolean, StoreError>
    /** Records the call's result, unless it has one, and wakes those who wait for it; returns what stands. */
    publish(id: string, result: ResultMessage): Effect.Effect<ResultMessage | undefined, StoreError>
    /** The call is over for its consumer. Its result is kept for late senders until it is pruned. */
    acknowledge(id: string, owner: string): Effect.Effect<boolean, StoreError>
    /** Gives the call back: to be claimed from `retry_at` (ms) on, or, without one, as dead. */
    failed(
      id: string,
      owner: string,
      error: string,
      retry_at: number | undefined
    ): Effect.Effect<boolean, StoreError>
    /** What could not be run, newest first; at most `limit` (up to 500). */
    dead(limit: number): Effect.Effect<ReadonlyArray<DeadToolMessage>, StoreError>
    /** A person says that a dead call is to be run, as if it had just been sent; `expires_at` is its new end. */
    replay(id: string, expires_at: number): Effect.Effect<boolean, StoreError>
    /** A person says that a dead call is over. What it left is kept for late senders until it is pruned. */
    discard(id: string): Effect.Effect<boolean, StoreError>
    /** Forgets up to 1,000 calls that were acknowledged before (ms); how many. */
    prune(before: number): Effect.Effect<number, StoreError>
    /** When the next call of these tools is due, in ms; undefined if none waits. */
    nextDueAt(tools: ReadonlyArray<string>): Effect.Effect<number | undefined, StoreError>
    /** Calls back when calls were sent, in this process or another, until the scope closes. */
    sent(listener: () => void): Effect.Effect<void, StoreError, Scope.Scope>
    /** Says what a worker runs, in place of what it said before. */
    announce(offer: Announcement): Effect.Effect<void, StoreError>
    /** Says that it still does, for another `lease_ms`; 0 = it is gone. False: it is not known, and has to announce. */
    renew(worker: string, lease_ms: number): Effect.Effect<boolean, StoreError>
    /**
     * What workers offer, by key, those available first; of these tools if any are named. Looks at the 1,000 workers that
     * were heard of last.
     */
    list(keys?: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<ToolOffer>, StoreError>
    /** Shows whoever waits for the call what there is so far, as JSON text. Kept nowhere; may be lost; too long = is. */
    show(id: string, json: string): Effect.Effect<void, StoreError>
    /** Calls back with what is shown of a call, until the scope closes. */
    shown(
      id: string,
      listener: (json: string) => void
    ): Effect.Effect<void, StoreError, Scope.Scope>
  }
>()("troupe/services/ToolQueue") {}
