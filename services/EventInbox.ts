/**
 * Records received events, each in one transaction with the task that it queued, so that neither exists without the other. Owns
 * which events were seen; does not read their content.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { BindingTarget } from "../src/conversation/ChannelBinding.ts"
import type { AddressConflict, AgentBusy, MailboxFull } from "../src/delivery/AgentTask.ts"
import type { EventConflict, ReceivedEvent } from "../src/delivery/IncomingEvent.ts"
import type { Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"
import type { NewTask } from "./TaskStore.ts"

/** What identifies an event. */
export interface EventKey {
  /** Whose event it is. */
  readonly tenant: Tenant
  /** 1 to 200 characters each. */
  readonly source: string
  /** The event's id, unique for its source. */
  readonly id: string
  /** SHA-256 of the event's content, in hex. The same source and id with another digest is refused. */
  readonly digest: string
}

/** Which events were received, so that each is handled once. */
export class EventInbox extends Context.Service<
  EventInbox,
  {
    /**
     * Records an event and queues its task, both or neither. A new
     * conversation gets the bindings. A known event queues nothing, and the result is that of the first time.
     */
    accept(
      event: EventKey,
      task: NewTask,
      bindings: ReadonlyArray<BindingTarget>
    ): Effect.Effect<
      ReceivedEvent,
      EventConflict | MailboxFull | AgentBusy | AddressConflict | StoreError
    >
    /** The result of an event that was received before; undefined = it is new. */
    known(event: EventKey): Effect.Effect<ReceivedEvent | undefined, EventConflict | StoreError>
    /** Records an event that queues no task. False = it is known. */
    remember(event: EventKey): Effect.Effect<boolean, EventConflict | StoreError>
    /**
     * Removes events that were received before `before` (ms since 1970), oldest first; at most `limit` (1,000). Returns how many.
     */
    forget(before: number, limit: number): Effect.Effect<number, StoreError>
  }
>()("troupe/services/EventInbox") {}
