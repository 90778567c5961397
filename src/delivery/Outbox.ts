/**
 * Messages of the outbox and dead letters. A message is delivered at least once, under the same id, in order per key. After
 * `attempts_max` tries it is a dead letter, and the next message of its key is delivered.
 */
import { Schema } from "effect"
import { AgentName, MessageId, Tenant } from "../Ids.ts"

export const OutboxMessage = Schema.Struct({
  id: MessageId,
  tenant: Tenant,
  /** Messages of one key are delivered in the order of `key_seq`. */
  key: Schema.String,
  key_seq: Schema.Int,
  /** Decides which handler delivers it. */
  topic: Schema.String,
  /** Only a process that hosts this agent delivers it. Absent = any process that handles the topic. */
  agent: Schema.optionalKey(AgentName),
  payload: Schema.Json,
  /** Tries so far. */
  attempts: Schema.Int,
  created_at: Schema.Int,
  /** It was a dead letter and was sent again, so it may come after younger messages of its key. */
  replayed: Schema.Boolean
})
export interface OutboxMessage extends Schema.Schema.Type<typeof OutboxMessage> {}

/** A message as its writer gives it; `key_seq` is allotted under the key's row. */
export type NewOutboxMessage = Pick<
  OutboxMessage,
  "id" | "tenant" | "key" | "topic" | "agent" | "payload"
>

/** One failed try: when, and a sentence without secrets, addresses or stack, at most 500 characters. */
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
  payload: Schema.Json,
  attempts: Schema.Int,
  failures: Schema.Array(DeliveryFailure),
  dead_at: Schema.Int,
  status: DeadLetterStatus,
  /** Who replayed or discarded it, when and why. */
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

/** The dead letter was replayed or discarded before. */
export class DeadLetterResolved extends Schema.TaggedError<DeadLetterResolved>()(
  "DeadLetterResolved",
  { event_id: Schema.String, status: DeadLetterStatus }
) {
  override get message(): string {
    return `dead letter ${this.event_id} was ${this.status} before`
  }
}

/** Tries before a message is a dead letter. */
export const attempts_max_default = 5
/** The wait between the first two tries; each further wait is twice the one before, up to `backoff_max_ms`. */
export const backoff_initial_ms = 500
export const backoff_max_ms = 60_000

/** The wait after the n-th try, n from 1. */
export const backoffMs = (attempt: number, initial_ms = backoff_initial_ms): number =>
  Math.min(initial_ms * 2 ** (attempt - 1), backoff_max_ms)
