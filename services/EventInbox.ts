/**
 * Remembers events that came in, each with the task that it queued: in one transaction, so that there is never one without
 * the other. Owns which events were seen; does not read what they say.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { BindingTarget } from "../src/conversation/ChannelBinding.ts"
import type { AddressConflict, AgentBusy, MailboxFull } from "../src/delivery/AgentTask.ts"
import type { EventConflict, ReceivedEvent } from "../src/delivery/IncomingEvent.ts"
import type { Tenant } from "../src/Ids.ts"
import type { StoreError } from "./StoreError.ts"
import type { NewTask } from "./TaskStore.ts"

/** What an event is known by. */
export interface EventKey {
  readonly tenant: Tenant
  /** 1 to 200 characters each. */
  readonly source: string
  readonly id: string
  /** SHA-256 in hex of what it says: the same source and id with another digest is refused. */
  readonly digest: string
}

export class EventInbox extends Context.Service<
  EventInbox,
  {
    /**
     * Remembers an event and queues its task, both or neither. The task's message is written as one of the system; a new
     * conversation gets the bindings. An event that is known queues nothing, and gives what it did the first time.
     */
    accept(
      event: EventKey,
      task: NewTask,
      bindings: ReadonlyArray<BindingTarget>
    ): Effect.Effect<
      ReceivedEvent,
      EventConflict | MailboxFull | AgentBusy | AddressConflict | StoreError
    >
    /** What an event did when it came first; undefined = it is new. */
    known(event: EventKey): Effect.Effect<ReceivedEvent | undefined, EventConflict | StoreError>
    /** Remembers an event that queues no task. False = it is known. */
    remember(event: EventKey): Effect.Effect<boolean, EventConflict | StoreError>
    /** Forgets events that came before `before` (ms since 1970), the oldest first; at most `limit` (1,000). How many. */
    forget(before: number, limit: number): Effect.Effect<number, StoreError>
  }
>()("troupe/services/EventInbox") {}
