/**
 * Takes events of other systems. An event that an agent is told of queues one task in the conversation of its subject; one
 * that is only to be remembered goes to the agent's memory. Agents take events, and emit none of them.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { NotEntitled } from "../src/approval/Approval.ts"
import type { AddressConflict, AgentBusy, MailboxFull } from "../src/delivery/AgentTask.ts"
import type {
  EventConflict,
  EventOutOfTime,
  EventTypeUnknown,
  IncomingEvent,
  ReceivedEvent
} from "../src/delivery/IncomingEvent.ts"
import type { InvalidInput } from "../src/entry/InvalidInput.ts"
import type { Principal } from "../src/Principal.ts"
import type { StoreError } from "./StoreError.ts"

/** After `MailboxFull`, `AgentBusy` and `StoreError` the same event may be taken later. The others stay as they are. */
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

export class EventIntake extends Context.Service<
  EventIntake,
  {
    /** Takes an event for the principal's tenant: durable when it returns. The same source and id again does nothing more. */
    publish(event: IncomingEvent, by: Principal): Effect.Effect<ReceivedEvent, EventRefusal>
  }
>()("troupe/services/EventIntake") {}
