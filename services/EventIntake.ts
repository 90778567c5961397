/**
 * Accepts events from other systems. An event for an agent queues one task in the conversation of its subject; an event that is
 * only to be remembered goes to the agent's memory. Agents receive events and never emit them.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { NotEntitled } from "../src/principal/NotEntitled.ts"
import type { AddressConflict, AgentBusy, MailboxFull } from "../src/delivery/AgentTask.ts"
import type {
  EventConflict,
  EventOutOfTime,
  EventTypeUnknown,
  IncomingEvent,
  ReceivedEvent
} from "../src/delivery/IncomingEvent.ts"
import type { InvalidInput } from "../src/schema/InvalidInput.ts"
import type { Principal } from "../src/principal/Principal.ts"
import type { StoreError } from "./StoreError.ts"

/** After `MailboxFull`, `AgentBusy` and `StoreError` the same event may be accepted later. The other refusals are final. */
export type EventRefusal =
  | InvalidInput
  | NotEntitled
  | EventTypeUnknown
  | EventConflict
  | EventOutOfTime
  | AddressConflict
  | MailboxFull
  | AgentBusy
  | StoreError

/** Takes in events of other systems, and does what their handlers say. */
export class EventIntake extends Context.Service<
  EventIntake,
  {
    /**
     * Accepts an event for the principal's tenant; durable when it returns. Repeating the same source and id has no further
     * effect.
     */
    publish(event: IncomingEvent, by: Principal): Effect.Effect<ReceivedEvent, EventRefusal>
  }
>()("troupe/services/EventIntake") {}
