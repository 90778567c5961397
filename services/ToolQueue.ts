/**
 * A durable queue of tool calls. A call that is sent to it is run at least once, by the worker that claims it, in this process or
 * another. Owns leases, deliveries, results, dead calls and the offers of workers; runs nothing itself. A worker executes a call,
 * publishes its result and acknowledges it, in this order.
 */
import { Context, Schema } from "effect"
import type { Effect, Scope } from "effect"
import type { Json } from "../src/value/Canonical.ts"
import type { Tenant } from "../src/value/Ids.ts"
import type { ResultMessage } from "../src/queue/CallMessage.ts"
import type { ToolOffer } from "../src/queue/ToolOffer.ts"
import type { ToolSpec } from "../src/tool/ToolSpec.ts"
import type { StoreError } from "./StoreError.ts"

/** Another call has this id: one with other arguments, for another tool or of another tenant. Nothing was queued. */
export class ToolMessageConflict extends Schema.TaggedError<ToolMessageConflict>()(
  "ToolMessageConflict",
  {
    /** The id that both have. */
    id: Schema.String,
    /** What differs. */
    message: Schema.String
  }
) {}

/** `waiting_max` calls of this tool and tenant wait already. Nothing was queued. */
export class ToolQueueFull extends Schema.TaggedError<ToolQueueFull>()("ToolQueueFull", {
  /** The tool. */
  tool: Schema.String,
  /** The most calls of a tool and tenant that may wait. */
  waiting_max: Schema.Int
}) {}

/** The maximum number of calls of one tool and one tenant that wait or run. Each pair of tool and tenant has its own limit. */
export const waiting_max = 10_000

/** A call for a worker. */
export interface NewToolMessage {
  /**
   * The call's id, which is the same each time the call is sent. 1 to 200 printable characters, like `tool`; anything else is a
   * defect.
   */
  readonly id: string
  /** The tool that the call is routed to: a registry key, or a plain name. */
  readonly tool: string
  /** Whose call it is. */
  readonly tenant: Tenant
  /** In ms since 1970. A worker that gets the call later does not run it. */
  readonly expires_at: number
  /** At most 1,000,000 characters as JSON; more is a defect. */
  readonly payload: Json
}

/** A call that a worker has claimed. */
export interface ToolDelivery extends Omit<NewToolMessage, "payload"> {
  /** The payload as it was stored; the worker decodes it. */
  readonly payload: unknown
  /** How often the call was claimed, including this claim. */
  readonly deliveries: number
  /** When a worker last recorded that it was about to act (`begin`), in ms since 1970; undefined = never. */
  readonly begun_at: number | undefined
  /** The result that an earlier delivery published without acknowledging the call. */
  readonly result: ResultMessage | undefined
}

/** A call whose workers failed too often. */
export interface DeadToolMessage extends Omit<ToolDelivery, "begun_at" | "result"> {
  /** Why the last attempt failed. */
  readonly error: string
  /** When that was, in ms since 1970. */
  readonly dead_at: number
}

/** What has become of a queued call. */
export interface ToolMessageState {
  /** A call that is `over` or `dead` has a result, except where its worker could not tell what became of it. */
  readonly status: "waiting" | "over" | "dead"
  /** Its result. Undefined = there is none. */
  readonly result: ResultMessage | undefined
}

/** The calls of one tool that are not over, without what they ask for. */
export interface WaitingCalls {
  /** The tool. */
  readonly tool: string
  /** How many wait for a worker. */
  readonly waiting: number
  /** How many a worker has claimed. */
  readonly claimed: number
  /** Since when the oldest of those that wait may be claimed, in ms since 1970; it may be to come. Absent = none waits. */
  readonly due_at?: number | undefined
}

/** Which calls a worker takes, how many and for how long. */
export interface ToolClaim {
  /** The name of the claim's owner, a new one for each claim. */
  readonly owner: string
  /** The tools that it runs: registry keys and plain names. */
  readonly tools: ReadonlyArray<string>
  /** 1 to 500. */
  readonly limit: number
  /**
   * The tenant that was served last. Tenants take turns in the order of their names, starting with the one after it. Absent =
   * starting with the first.
   */
  readonly after?: Tenant | undefined
  /** The lease in ms, during which no other worker gets these calls. */
  readonly lease_ms: number
}

/** What one worker offers to run. */
export interface Announcement extends Pick<ToolOffer, "worker" | "provider"> {
  /** At most 1,000 tools, and 16,000,000 characters as JSON; more is a defect. */
  readonly tools: ReadonlyArray<ToolSpec>
  /** How long the worker counts as available, in ms from now. */
  readonly lease_ms: number
}

/** The most tools that one worker announces. */
export const announced_tools_max = 1_000
/** The most UTF-16 units of all that it announces. */
export const announced_length_max = 16_000_000

/**
 * How long a worker that is gone is still listed, in ms. It is listed for less time if another worker offers all of its tools.
 */
export const unavailable_listed_ms = 86_400_000

/** Calls that workers run: each id once, with its result. */
export class ToolQueue extends Context.Service<
  ToolQueue,
  {
    /**
     * Queues a call; durable when it returns. A known id is not queued twice, and returns the call's final result if there
     * is one. A result that leaves the outcome open is removed and the call waits again, because its sender wants it run
     * again.
     */
    send(
      message: NewToolMessage
    ): Effect.Effect<ResultMessage | undefined, ToolMessageConflict | ToolQueueFull | StoreError>
    /** Waits for the result of a call; the caller bounds the wait. Never ends for an id that is not in the queue. */
    awaited(id: string): Effect.Effect<ResultMessage, StoreError>
    /** The state of a call; undefined = it was never sent, was withdrawn, or has been pruned. */
    status(id: string): Effect.Effect<ToolMessageState | undefined, StoreError>
    /** Removes a call that was never claimed. True = it was not run and will not be run. */
    withdraw(id: string): Effect.Effect<boolean, StoreError>
    /**
     * Claims calls that are due, and counts their deliveries. Tenants take turns, each with its oldest call, so that a tenant
     * with thousands of calls delays another tenant's by one call.
     */
    claim(claim: ToolClaim): Effect.Effect<ReadonlyArray<ToolDelivery>, StoreError>
    /**
     * Releases the calls of these claims, as if they had never been claimed. For claims whose replies were lost, so that nobody
     * works on their calls.
     */
    release(owners: ReadonlyArray<string>): Effect.Effect<void, StoreError>
    /**
     * Records that the worker is about to execute the call. False, here and in the methods below = another owner has the call,
     * and the worker must do nothing.
     */
    begin(id: string, owner: string): Effect.Effect<boolean, StoreError>
    /** Extends the lease of a call to `lease_ms` from now. */
    extend(id: string, owner: string, lease_ms: number): Effect.Effect<boolean, StoreError>
    /** Records the call's result, unless it has one, and wakes those who wait for it. Returns the result that is recorded. */
    publish(id: string, result: ResultMessage): Effect.Effect<ResultMessage | undefined, StoreError>
    /** Marks the call as over. Its result stays available to later sends until it is pruned. */
    acknowledge(id: string, owner: string): Effect.Effect<boolean, StoreError>
    /**
     * Records a failed delivery: the call can be claimed again from `retry_at` (ms since 1970) on or, if that is undefined,
     * becomes dead.
     */
    failed(
      id: string,
      owner: string,
      error: string,
      retry_at: number | undefined
    ): Effect.Effect<boolean, StoreError>
    /** Dead calls, newest first; at most `limit` (up to 500). */
    dead(limit: number): Effect.Effect<ReadonlyArray<DeadToolMessage>, StoreError>
    /** Makes a dead call wait again as if it had just been sent; for an operator. False = it is not dead. */
    replay(id: string, expires_at: number): Effect.Effect<boolean, StoreError>
    /**
     * Marks a dead call as over; for an operator. Its result stays available to later sends until it is pruned. False = it is not
     * dead.
     */
    discard(id: string): Effect.Effect<boolean, StoreError>
    /** Deletes up to 1,000 calls that were over before this time (ms since 1970), and returns how many. */
    prune(before: number): Effect.Effect<number, StoreError>
    /** When the next call of these tools is due, in ms since 1970; undefined = none waits. */
    nextDueAt(tools: ReadonlyArray<string>): Effect.Effect<number | undefined, StoreError>
    /**
     * Calls of a tenant that wait or run, by tool, of those of these tools (at most 2,000) that have any: of each tool the 1,001 that
     * are due first, so that more than 1,000 tell that there are more.
     */
    queued(
      tenant: Tenant,
      tools: ReadonlyArray<string>
    ): Effect.Effect<ReadonlyArray<WaitingCalls>, StoreError>
    /** Calls back when calls were sent, by this process or another, until the scope closes. */
    onSent(listener: () => void): Effect.Effect<void, StoreError, Scope.Scope>
    /** Publishes a worker's offer, which replaces its earlier one. */
    announce(offer: Announcement): Effect.Effect<void, StoreError>
    /**
     * Extends a worker's offer to `lease_ms` from now; 0 = the worker is gone. False = the worker is unknown and has to announce
     * its offer.
     */
    renew(worker: string, lease_ms: number): Effect.Effect<boolean, StoreError>
    /**
     * The offers of the 1,000 workers that announced or renewed last, by key, available ones first. If `keys` is not empty, only
     * the offers for these keys.
     */
    list(keys?: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<ToolOffer>, StoreError>
    /**
     * Shows a preliminary result, as JSON text, to those who wait for the call. It is not stored and may be lost; a result of
     * more than 7,000 bytes is always lost.
     */
    show(id: string, json: string): Effect.Effect<void, StoreError>
    /** Calls back with the preliminary results of a call, until the scope closes. */
    onShown(
      id: string,
      listener: (json: string) => void
    ): Effect.Effect<void, StoreError, Scope.Scope>
  }
>()("troupe/services/ToolQueue") {}
