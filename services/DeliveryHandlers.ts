/**
 * The handlers that deliver the messages of the outbox, by topic. Several rooms provide handlers, and compose merges them.
 * The relay claims only topics that have one, so a message without a handler waits.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { OutboxMessage } from "../src/delivery/OutboxMessage.ts"
import type { AgentName } from "../src/value/Ids.ts"

/** This attempt failed, and another one may succeed. The message is sanitised before it is stored. */
export class DeliveryFailed extends Schema.TaggedError<DeliveryFailed>()("DeliveryFailed", {
  /** Why the attempt failed. */
  message: Schema.String,
  /** The next attempt is made after this many ms at the earliest; at most a quarter of an hour. */
  retry_after_ms: Schema.optionalKey(Schema.Int)
}) {}

/** No attempt can succeed: the message becomes a dead letter at once. */
export class DeliveryRefused extends Schema.TaggedError<DeliveryRefused>()("DeliveryRefused", {
  /** Why no attempt can succeed. */
  message: Schema.String
}) {}

/**
 * Delivers one message. It has to be idempotent by the message's id: if the process dies after the delivery and before it is
 * recorded, the handler is called again for the same message. It is interrupted at the relay's timeout.
 */
export type DeliveryHandler = (
  message: OutboxMessage
) => Effect.Effect<void, DeliveryFailed | DeliveryRefused>

/** The handlers of one room: topic, handler, and the agents whose messages the handler delivers, if there are any. */
export type RoomHandlers = ReadonlyArray<
  readonly [topic: string, handler: DeliveryHandler, agents?: ReadonlyArray<AgentName>]
>

/** The handlers of this process, which deliver the messages of the outbox. */
export class DeliveryHandlers extends Context.Service<
  DeliveryHandlers,
  {
    /** The handler of each topic. */
    readonly byTopic: ReadonlyMap<string, DeliveryHandler>
    /** This process delivers messages for these agents; those for other agents wait for a process that hosts them. */
    readonly agents: ReadonlyArray<AgentName>
  }
>()("troupe/services/DeliveryHandlers") {}
