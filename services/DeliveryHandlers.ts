/**
 * What delivers a message of each topic. Handlers come from several rooms and are merged in compose; the relay claims
 * only the topics that have one, so that a message without a handler waits.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { OutboxMessage } from "../src/delivery/Outbox.ts"
import type { AgentName } from "../src/Ids.ts"

/** This try failed and another may succeed. The message is sanitised before it is kept. */
export class DeliveryFailed extends Schema.TaggedError<DeliveryFailed>()("DeliveryFailed", {
  message: Schema.String
}) {}

/** No try will ever succeed: the message is a dead letter at once. */
export class DeliveryRefused extends Schema.TaggedError<DeliveryRefused>()("DeliveryRefused", {
  message: Schema.String
}) {}

/**
 * Delivers one message. It may be called again for a message that was delivered before (the process died before it was
 * written down), always with the same id: what it does must be idempotent by that id. It is interrupted at the relay's
 * timeout.
 */
export type DeliveryHandler = (
  message: OutboxMessage
) => Effect.Effect<void, DeliveryFailed | DeliveryRefused>

/** What a room gives: its topics with their handlers, and the agents whose messages its handler delivers, if it does. */
export type RoomHandlers = ReadonlyArray<
  readonly [topic: string, handler: DeliveryHandler, agents?: ReadonlyArray<AgentName>]
>

export class DeliveryHandlers extends Context.Service<
  DeliveryHandlers,
  {
    readonly byTopic: ReadonlyMap<string, DeliveryHandler>
    /** Whose messages are delivered here: those for other agents wait for a process that hosts them. */
    readonly agents: ReadonlyArray<AgentName>
  }
>()("troupe/services/DeliveryHandlers") {}
