/**
 * A conversation with an agent, independent of the channel in which it takes place, and its messages.
 */
import { Schema } from "effect"
import { CheckedJson } from "../value/JsonObject.ts"
import { FinishReason, Source } from "../run/ProviderWork.ts"
import type { Role } from "../principal/Principal.ts"
import { FilePart, Part } from "./Part.ts"
import { Address, AgentName, ConversationId, RunId, Tenant } from "../value/Ids.ts"

export const InitiatedBy = Schema.Literals(["customer", "agent", "system"])
export type InitiatedBy = typeof InitiatedBy.Type

/**
 * Who began a conversation whose first message does not say so: a customer, if the sender has that role, else the application.
 */
export const initiatorOf = (roles: ReadonlyArray<Role>): InitiatedBy =>
  roles.includes("customer") ? "customer" : "system"

export const Conversation = Schema.Struct({
  /** Unique only within the tenant: another tenant may have a conversation with the same id. */
  id: ConversationId,
  tenant: Tenant,
  /** The address of the actor that answers in this conversation. */
  address: Address,
  initiated_by: InitiatedBy,
  /** The domain event that opened the conversation, if the system began it. */
  trigger_event_id: Schema.optionalKey(Schema.String),
  /**
   * The principal that sent the first message. A customer reads and writes only conversations that it began itself. Absent = not
   * known, so no customer may use it.
   */
  begun_by: Schema.optionalKey(Schema.String),
  created_at: Schema.Int
})
export interface Conversation extends Schema.Schema.Type<typeof Conversation> {}

export const MessageRole = Schema.Literals(["user", "assistant", "system", "tool"])
export type MessageRole = typeof MessageRole.Type

export const ConversationMessage = Schema.Struct({
  conversation: ConversationId,
  /** The message's number in the conversation, from 0. */
  seq: Schema.Int,
  role: MessageRole,
  content: Schema.String,
  /** The channel from which the message came: `api`, `console`, `slack`, ... */
  channel_origin: Schema.String,
  tool_calls: Schema.optionalKey(Schema.Array(CheckedJson)),
  run_id: Schema.optionalKey(RunId),
  /** The agent that answered, if it is not the one that the conversation began with. */
  agent: Schema.optionalKey(AgentName),
  /** Present on an answer that did not end normally: it was cut, refused or filtered, and may be empty. */
  finish: Schema.optionalKey(FinishReason),
  /** Why the run did not complete, for an answer that did not end normally. */
  reason: Schema.optionalKey(Schema.String),
  /** The sources to which an answer refers. */
  sources: Schema.optionalKey(Schema.Array(Source)),
  /** The files of a message and the texts between them, which follow its text. */
  parts: Schema.optionalKey(Schema.Array(Part)),
  /** The files of an answer. */
  files: Schema.optionalKey(Schema.Array(FilePart)),
  created_at: Schema.Int
})
export interface ConversationMessage extends Schema.Schema.Type<typeof ConversationMessage> {}

/** The greatest size of a message, in bytes of UTF-8. */
export const message_bytes_max = 1_000_000

/** The tenant has no such conversation, or the caller may not use it. */
export class ConversationNotFound extends Schema.TaggedError<ConversationNotFound>()(
  "ConversationNotFound",
  { id: Schema.String }
) {
  override get message(): string {
    return `there is no conversation ${JSON.stringify(this.id)}`
  }
}
