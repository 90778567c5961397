/**
 * The handlers that deliver the messages of the outbox, by topic. Several rooms provide handlers, and compose merges them.
 * The relay claims only topics that have one, so a message without a handler waits.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { OutboxMessage } from "../src/delivery/Outbox.ts"
import type { AgentName } from "../src/Ids.ts"

/** This try failed and another may succeed. The message is sanitised before it is stored. */
export class DeliveryFailed extends Schema.TaggedError<DeliveryFailed>()("DeliveryFailed", {
  message: Schema.String,
  /** The next try is not before this many ms have passed; a quarter of an hour at most. */
  retry_after_ms: Schema.optionalKey(Schema.Int)
}) {}

/** No try can succeed: the message is a dead letter at once. */
export class DeliveryRefused extends Schema.TaggedError<DeliveryRefused>()("DeliveryRefused", {
  message: Schema.String
}) {}

/**
 * Delivers one message. It must be idempotent by the message's id: it is called again for a message that it delivered if
 * the process died before the report. It is interrupted at the relay's timeout.
 */
export type DeliveryHandler = (
  message: OutboxMessage
) => Effect.Effect<void, DeliveryFailed | DeliveryRefused>

/** The handlers of one room: topic, handler, and the agents whose messages the handler delivers, if there are any. */
export type RoomHandlers = ReadonlyArray<
  readonly [topic: string, handler: DeliveryHandler, agents?: ReadonlyArray<AgentName>]
>

export class DeliveryHandlers extends Context.Service<
  DeliveryHandlers,
  {
    readonly byTopic: ReadonlyMap<string, DeliveryHandler>
    /** Messages for these agents are delivered here; those for others wait for a process that hosts them. */
    readonly agents: ReadonlyArray<AgentName>
  }
>()("troupe/services/DeliveryHandlers") {}
