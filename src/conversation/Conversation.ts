/**
 * A conversation with an agent, independent of the channel in which it takes place, and its messages.
 */
import { Schema } from "effect"
import { CheckedJson } from "../value/JsonObject.ts"
import { FinishReason, Source } from "../run/ProviderWork.ts"
import type { Role } from "../principal/Principal.ts"
import { FilePart, Part } from "./Part.ts"
import { textUpTo } from "../value/Bounds.ts"
import { cutText, truncateUnits } from "../value/CutText.ts"
import { Address, AgentName, ConversationId, plainText, RunId, Tenant } from "../value/Ids.ts"
import { withoutInvisible } from "../value/InvisibleText.ts"

/** Who began a conversation: a customer, an agent, or the application. */
export const InitiatedBy = Schema.Literals(["customer", "agent", "system"])
export type InitiatedBy = typeof InitiatedBy.Type

/**
 * Who began a conversation whose first message does not say so: a customer, if the sender has that role, else the application.
 */
export const initiatorOf = (roles: ReadonlyArray<Role>): InitiatedBy =>
  roles.includes("customer") ? "customer" : "system"

/** A conversation with an agent. */
export const Conversation = Schema.Struct({
  /** Unique only within the tenant: another tenant may have a conversation with the same id. */
  id: ConversationId,
  /** Whose conversation it is. */
  tenant: Tenant,
  /** The address of the actor that answers in this conversation. */
  address: Address,
  /** Who began it. */
  initiated_by: InitiatedBy,
  /** The domain event that opened the conversation, if the system began it. */
  trigger_event_id: Schema.optionalKey(Schema.String),
  /**
   * The principal that sent the first message. A customer reads and writes only conversations that it began itself. Absent = not
   * known, so no customer may use it.
   */
  begun_by: Schema.optionalKey(Schema.String),
  /** When its first message was accepted, in ms since 1970. */
  created_at: Schema.Int
})
export interface Conversation extends Schema.Schema.Type<typeof Conversation> {}

/** The longest title, in UTF-16 units. */
export const title_units_max = 200

/** What a conversation is called in lists: 1 to 200 characters that can be seen, without line ends. */
export const ConversationTitle = textUpTo(title_units_max).check(
  plainText,
  Schema.makeFilter(
    (title: string) =>
      (/\S/.test(title) && withoutInvisible(title) === title) ||
      "Expected a title that can be seen: not blank, and without invisible characters"
  )
)

/** What an application notes of a conversation: at most 16 names of 1 to 64 characters, with texts of at most 500. */
export const Metadata = Schema.Record(
  Schema.String.check(
    Schema.isPattern(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/, {
      description: "a name of 1 to 64 letters, digits and _ . -"
    })
  ),
  Schema.String.check(Schema.isMaxLength(500))
).check(Schema.isMaxProperties(16))
export type Metadata = typeof Metadata.Type

/** How much of a text is read for its first words. */
const read_units = 1_000

/** The first words of a text, at most `units_max` characters, in one line; undefined = it has none. */
export const firstWords = (text: string, units_max = 80): string | undefined => {
  const line = withoutInvisible(truncateUnits(text, read_units).toWellFormed())
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim()
  return line === "" ? undefined : cutText(line, units_max)
}

/**
 * `idle`: nothing is at work. Else the status of the oldest run that is not over: `awaiting_approval` = it waits for a person, its
 * client or an operator. `quarantined`: that run cannot go on; customers are told `processing`.
 */
export const ConversationStatus = Schema.Literals([
  "idle",
  "pending",
  "processing",
  "awaiting_approval",
  "quarantined"
])
export type ConversationStatus = typeof ConversationStatus.Type

/** A place in the list of conversations: the time of the last activity, a dot, and the id. */
export const ConversationCursor = Schema.String.check(
  Schema.isPattern(/^[0-9]{1,16}\.[A-Za-z0-9][A-Za-z0-9._:@~-]{0,199}$/, {
    description: "the `cursor` of a conversation"
  })
)

/** A conversation as lists show it, made without reading its journals. */
export const ConversationItem = Schema.Struct({
  ...Conversation.fields,
  /** What it was named; else what the agent's `title` made of the first message, or its first words. Absent = there are none. */
  title: Schema.optionalKey(Schema.String),
  /** Whether something is at work in it, or waits for people. */
  status: ConversationStatus,
  /** How many messages and answers there have been. */
  messages: Schema.Int,
  /** The last message of a person, or answer of an agent. */
  last_message: Schema.optionalKey(
    Schema.Struct({
      /** Whether a person or an agent said it. */
      role: Schema.Literals(["user", "assistant"]),
      /** At most 200 characters. */
      text: Schema.String,
      /** ms since 1970. */
      at: Schema.Int
    })
  ),
  /** When the last message was accepted or the last answer given, in ms since 1970. */
  active_at: Schema.Int,
  /** What the application noted. Absent = nothing; customers are not shown it. */
  metadata: Schema.optionalKey(Metadata),
  /** `after` of the page behind this conversation. */
  cursor: ConversationCursor
}).annotate({ identifier: "ConversationItem" })
export interface ConversationItem extends Schema.Schema.Type<typeof ConversationItem> {}

const shown_units = 200

/** The beginning of a message, as a list shows it. */
export const shownText = (text: string): string =>
  cutText(truncateUnits(text, read_units).toWellFormed(), shown_units)

/** The `channel_origin` of messages of imported histories. */
export const imported_origin = "import"

/** Who says a message: a person, an agent, the application, or a tool. */
export const MessageRole = Schema.Literals(["user", "assistant", "system", "tool"])
export type MessageRole = typeof MessageRole.Type

/** A message of a conversation. */
export const ConversationMessage = Schema.Struct({
  /** The conversation that it is in. */
  conversation: ConversationId,
  /** The message's number in the conversation, from 0. */
  seq: Schema.Int,
  /** Who says it. */
  role: MessageRole,
  /** Its text. */
  content: Schema.String,
  /** The channel from which the message came: `api`, `console`, `slack`, ... */
  channel_origin: Schema.String,
  /** The calls of a turn, as the model proposed them. Absent = none. */
  tool_calls: Schema.optionalKey(Schema.Array(CheckedJson)),
  /** The run that the message began, or whose answer it is. Absent = none. */
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
  /** It comes from an imported history: nobody here said it. Absent = it does not. */
  imported: Schema.optionalKey(Schema.Literal(true)),
  /** It is not of the current branch: another message stands in place of it, or of one before it. Absent = it is. */
  superseded: Schema.optionalKey(Schema.Literal(true)),
  /** When it was accepted, in ms since 1970. */
  created_at: Schema.Int
})
export interface ConversationMessage extends Schema.Schema.Type<typeof ConversationMessage> {}

/** The greatest size of a message, in bytes of UTF-8. */
export const message_bytes_max = 1_000_000

/** The tenant has no such conversation, or the caller may not use it. */
export class ConversationNotFound extends Schema.TaggedError<ConversationNotFound>()(
  "ConversationNotFound",
  {
    /** The id that was asked for. */
    id: Schema.String,
    /** The form of the ids under which this customer may begin a conversation, if it sent a message under another id. */
    begins: Schema.optionalKey(Schema.String)
  }
) {
  override get message(): string {
    const cure = this.begins === undefined ? "" : `; one that you begin is named ${this.begins}`
    return `there is no conversation ${JSON.stringify(this.id)}${cure}`
  }
}
