/**
 * Messages of the outbox, and dead letters. A message is delivered at least once, under the same id, in order for each key.
 * After `attempts_max` failed attempts it becomes a dead letter, and the next message of its key is delivered.
 */
import { Schema } from "effect"
import { CheckedJson } from "../value/JsonObject.ts"
import { AgentName, MessageId, Tenant } from "../value/Ids.ts"

/** A message that is written together with what it tells, and delivered after that. */
export const OutboxMessage = Schema.Struct({
  /** Its id, the same at every delivery: receivers know a repetition by it. */
  id: MessageId,
  /** Whose message it is. */
  tenant: Tenant,
  /** Messages of one key are delivered in the order of `key_seq`. */
  key: Schema.String,
  /** Its place among the messages of its key. */
  key_seq: Schema.Int,
  /** Selects the handler that delivers the message. */
  topic: Schema.String,
  /** Only a process that hosts this agent delivers the message. Absent = any process that handles the topic. */
  agent: Schema.optionalKey(AgentName),
  /** What it tells, as JSON. */
  payload: CheckedJson,
  /** The number of delivery attempts so far. */
  attempts: Schema.Int,
  /** When it was written, in ms since 1970. */
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
  /** When the attempt failed, in ms since 1970. */
  at: Schema.Int,
  /** Which attempt it was, from 1. */
  attempt: Schema.Int,
  /** Why it failed. */
  error: Schema.String
})
export interface DeliveryFailure extends Schema.Schema.Type<typeof DeliveryFailure> {}

/** Whether a dead letter waits for an operator, was sent again, or was given up. */
export const DeadLetterStatus = Schema.Literals(["dead", "replayed", "discarded"])
export type DeadLetterStatus = typeof DeadLetterStatus.Type

/** A message whose delivery failed too often. */
export const DeadLetter = Schema.Struct({
  /** The id of the message. */
  event_id: MessageId,
  /** Whose message it is. */
  tenant: Tenant,
  /** The topic whose handler failed. */
  handler_name: Schema.String,
  /** Its key: later messages of that key are delivered meanwhile. */
  key: Schema.String,
  /** What it tells, as JSON. */
  payload: CheckedJson,
  /** How many attempts failed. */
  attempts: Schema.Int,
  /** The attempts that failed, oldest first. */
  failures: Schema.Array(DeliveryFailure),
  /** When the last attempt failed, in ms since 1970. */
  dead_at: Schema.Int,
  /** Whether it waits, was sent again or was given up. */
  status: DeadLetterStatus,
  /** Who replayed or discarded the dead letter, when and why. */
  resolved_by: Schema.optionalKey(Schema.String),
  /** When it was replayed or discarded, in ms since 1970. */
  resolved_at: Schema.optionalKey(Schema.Int),
  /** Why it was replayed or discarded, as the operator says. */
  resolved_reason: Schema.optionalKey(Schema.String)
})
export interface DeadLetter extends Schema.Schema.Type<typeof DeadLetter> {}

/** There is no dead letter with this id. */
export class DeadLetterNotFound extends Schema.TaggedError<DeadLetterNotFound>()(
  "DeadLetterNotFound",
  {
    /** The id that was asked for. */
    event_id: Schema.String
  }
) {
  override get message(): string {
    return `there is no dead letter ${JSON.stringify(this.event_id)}`
  }
}

/** The dead letter was already replayed or discarded. */
export class DeadLetterResolved extends Schema.TaggedError<DeadLetterResolved>()(
  "DeadLetterResolved",
  {
    /** The dead letter. */
    event_id: Schema.String,
    /** What was done with it. */
    status: DeadLetterStatus
  }
) {
  override get message(): string {
    return `dead letter ${this.event_id} was ${this.status} before`
  }
}

/** How many delivery attempts fail before a message becomes a dead letter. */
export const attempts_max_default = 5
/** The wait between the first two attempts, in ms. Each further wait is twice the previous one, up to `backoff_max_ms`. */
export const backoff_initial_ms = 500
/** The longest wait between two attempts, in ms. */
export const backoff_max_ms = 60_000

/** The wait in ms after the attempt number `attempt`, which counts from 1. */
export const backoffMs = (attempt: number, initial_ms = backoff_initial_ms): number =>
  Math.min(initial_ms * 2 ** (attempt - 1), backoff_max_ms)
