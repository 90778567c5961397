/**
 * A conversation with an agent, independent of the channel it is held in, and its messages.
 */
import { Schema } from "effect"
import { FinishReason } from "../run/FinishReason.ts"
import { Source } from "../run/ProviderWork.ts"
import type { Role } from "../Principal.ts"
import { FilePart, Part } from "./Part.ts"
import { Address, AgentName, ConversationId, RunId, Tenant } from "../Ids.ts"

export const InitiatedBy = Schema.Literals(["customer", "agent", "system"])
export type InitiatedBy = typeof InitiatedBy.Type

/** Who began a conversation where its first message does not say: a customer, or else the application. */
export const initiatorOf = (roles: ReadonlyArray<Role>): InitiatedBy =>
  roles.includes("customer") ? "customer" : "system"

export const Conversation = Schema.Struct({
  /** Known within its tenant: another tenant may have a conversation of the same id. */
  id: ConversationId,
  tenant: Tenant,
  /** The actor that answers here. */
  address: Address,
  initiated_by: InitiatedBy,
  /** The domain event that opened it, for one that a system began. */
  trigger_event_id: Schema.optionalKey(Schema.String),
  /**
   * The principal that sent its first message: a customer reads and writes only conversations that it began itself.
   * Absent = not known, and then it is no customer's.
   */
  begun_by: Schema.optionalKey(Schema.String),
  created_at: Schema.Int
})
export interface Conversation extends Schema.Schema.Type<typeof Conversation> {}

export const MessageRole = Schema.Literals(["user", "assistant", "system", "tool"])
export type MessageRole = typeof MessageRole.Type

export const ConversationMessage = Schema.Struct({
  conversation: ConversationId,
  /** Counts the conversation's messages from 0. */
  seq: Schema.Int,
  role: MessageRole,
  content: Schema.String,
  /** Where it came from: `api`, `console`, `slack`, ... */
  channel_origin: Schema.String,
  tool_calls: Schema.optionalKey(Schema.Array(Schema.Json)),
  run_id: Schema.optionalKey(RunId),
  /** The agent that answered, where it is not the one that the conversation began with. */
  agent: Schema.optionalKey(AgentName),
  /** Of an answer that did not end well: it is cut, refused or filtered, and may be empty. */
  finish: Schema.optionalKey(FinishReason),
  /** Why its run did not complete, where the answer did not end well. */
  reason: Schema.optionalKey(Schema.String),
  /** What an answer refers to. */
  sources: Schema.optionalKey(Schema.Array(Source)),
  /** Files of a message and texts between them, after its text. */
  parts: Schema.optionalKey(Schema.Array(Part)),
  /** Files of an answer. */
  files: Schema.optionalKey(Schema.Array(FilePart)),
  created_at: Schema.Int
})
export interface ConversationMessage extends Schema.Schema.Type<typeof ConversationMessage> {}

/** Of a message, in bytes of UTF-8. */
export const message_bytes_max = 1_000_000

/** There is no such conversation, or it is not open to the caller. */
export class ConversationNotFound extends Schema.TaggedError<ConversationNotFound>()(
  "ConversationNotFound",
  { id: Schema.String }
) {
  override get message(): string {
    return `there is no conversation ${JSON.stringify(this.id)}`
  }
}
