/**
 * Messages of the outbox, and dead letters. A message is delivered at least once, under the same id, in order for each key.
 * After `attempts_max` failed attempts it becomes a dead letter, and the next message of its key is delivered.
 */
import { Schema } from "effect"
import { CheckedJson } from "../value/JsonObject.ts"
import { AgentName, MessageId, Tenant } from "../value/Ids.ts"

export const OutboxMessage = Schema.Struct({
  id: MessageId,
  tenant: Tenant,
  /** Messages of one key are delivered in the order of `key_seq`. */
  key: Schema.String,
  key_seq: Schema.Int,
  /** Selects the handler that delivers the message. */
  topic: Schema.String,
  /** Only a process that hosts this agent delivers the message. Absent = any process that handles the topic. */
  agent: Schema.optionalKey(AgentName),
  payload: CheckedJson,
  /** The number of delivery attempts so far. */
  attempts: Schema.Int,
  created_at: Schema.Int,
  /** True = the message was a dead letter and was sent again, so it may come after younger messages of its key. */
  replayed: Schema.Boolean
})
export interface OutboxMessage extends Schema.Schema.Type<typeof OutboxMessage> {}

/** A message as its writer passes it. `key_seq` is assigned while the key's row is locked. */
export type NewOutboxMessage = Pick<
  OutboxMessage,
  "id" | "tenant" | "key" | "topic" | "agent" | "payload"
>

/** One failed delivery attempt. The error is a sentence without secrets, addresses and stack, at most 500 characters. */
export const DeliveryFailure = Schema.Struct({
  at: Schema.Int,
  attempt: Schema.Int,
  error: Schema.String
})
export interface DeliveryFailure extends Schema.Schema.Type<typeof DeliveryFailure> {}

export const DeadLetterStatus = Schema.Literals(["dead", "replayed", "discarded"])
export type DeadLetterStatus = typeof DeadLetterStatus.Type

export const DeadLetter = Schema.Struct({
  event_id: MessageId,
  tenant: Tenant,
  handler_name: Schema.String,
  key: Schema.String,
  payload: CheckedJson,
  attempts: Schema.Int,
  failures: Schema.Array(DeliveryFailure),
  dead_at: Schema.Int,
  status: DeadLetterStatus,
  /** Who replayed or discarded the dead letter, when and why. */
  resolved_by: Schema.optionalKey(Schema.String),
  resolved_at: Schema.optionalKey(Schema.Int),
  resolved_reason: Schema.optionalKey(Schema.String)
})
export interface DeadLetter extends Schema.Schema.Type<typeof DeadLetter> {}

/** There is no dead letter with this id. */
export class DeadLetterNotFound extends Schema.TaggedError<DeadLetterNotFound>()(
  "DeadLetterNotFound",
  { event_id: Schema.String }
) {
  override get message(): string {
    return `there is no dead letter ${JSON.stringify(this.event_id)}`
  }
}

/** The dead letter was already replayed or discarded. */
export class DeadLetterResolved extends Schema.TaggedError<DeadLetterResolved>()(
  "DeadLetterResolved",
  { event_id: Schema.String, status: DeadLetterStatus }
) {
  override get message(): string {
    return `dead letter ${this.event_id} was ${this.status} before`
  }
}

/** How many delivery attempts fail before a message becomes a dead letter. */
export const attempts_max_default = 5
/** The wait between the first two attempts, in ms. Each further wait is twice the previous one, up to `backoff_max_ms`. */
export const backoff_initial_ms = 500
export const backoff_max_ms = 60_000

/** The wait in ms after the attempt number `attempt`, which counts from 1. */
export const backoffMs = (attempt: number, initial_ms = backoff_initial_ms): number =>
  Math.min(initial_ms * 2 ** (attempt - 1), backoff_max_ms)
