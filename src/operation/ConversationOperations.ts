/** The operations on conversations and their messages. */
import { Schema } from "effect"
import {
  Conversation,
  ConversationCursor,
  ConversationItem,
  ConversationMessage,
  ConversationTitle,
  Metadata
} from "../conversation/Conversation.ts"
import { HistoryFormat, history_messages_max, LeftOut } from "../conversation/ImportedHistory.ts"
import { textUpTo } from "../value/Bounds.ts"
import { AgentName, ConversationId, plainText } from "../value/Ids.ts"
import { CheckedJson } from "../value/JsonObject.ts"
import { ConversationFilters } from "./Filters.ts"
import { operation } from "./Operation.ts"
import { After, Limit } from "./Page.ts"

export const list = operation({
  id: "list",
  name: "conversations",
  method: "GET",
  path: "/v1/conversations",
  query: ConversationFilters,
  success: Schema.Struct({
    items: Schema.Array(ConversationItem),
    /** `after` of the next page, also of a search that found few; absent on the last one. */
    next_after: Schema.optionalKey(ConversationCursor)
  }),
  right: "follow",
  gives: "items",
  summary: "Conversations, those that were active last first"
})

export const change = operation({
  id: "change",
  name: "changeConversation",
  method: "PUT",
  path: "/v1/conversations/:id",
  params: Schema.Struct({ id: ConversationId }),
  payload: Schema.Struct({
    /** Absent = it stays. */
    title: Schema.optionalKey(ConversationTitle),
    /** All of it, in place of what there is. Customers may not set it. Absent = it stays. */
    metadata: Schema.optionalKey(Metadata)
  }),
  success: ConversationItem,
  problems: [404],
  right: "send",
  args: ["id", "input"],
  summary: "Rename a conversation, or note something of it"
})

export const get = operation({
  id: "get",
  name: "messages",
  method: "GET",
  path: "/v1/conversations/:id",
  params: Schema.Struct({ id: ConversationId }),
  query: Schema.Struct({
    limit: Schema.optionalKey(Limit),
    /** The page contains messages with a greater `seq` than this. */
    after: Schema.optionalKey(After),
    /** True = with the messages of other branches, marked as `superseded`. Absent = the current branch alone. */
    superseded: Schema.optionalKey(Schema.Boolean)
  }),
  success: Schema.Struct({
    conversation: Conversation,
    messages: Schema.Array(ConversationMessage),
    /** `after` of the next page; absent on the last one. */
    next_after: Schema.optionalKey(Schema.Int)
  }),
  problems: [404],
  right: "follow",
  args: ["id"],
  gives: "messages",
  summary: "A conversation with its messages"
})

export const importHistory = operation({
  id: "importHistory",
  name: "importHistory",
  method: "POST",
  path: "/v1/conversations/:id/history",
  params: Schema.Struct({ id: ConversationId }),
  payload: Schema.Struct({
    /** The agent that goes on with the conversation. */
    agent: AgentName,
    /** The id of the customer whose conversation it is then. Absent = it is the caller's. */
    customer: Schema.optionalKey(textUpTo(200).check(plainText)),
    format: HistoryFormat,
    /** 1 to 1,000 messages as the other system exports them, oldest first. */
    messages: Schema.Array(CheckedJson).check(
      Schema.isMinLength(1),
      Schema.isMaxLength(history_messages_max)
    )
  }),
  success: Schema.Struct({
    conversation: ConversationId,
    /** How many runs stand for it: one for each message of a user, with what was answered. */
    runs: Schema.Int,
    /** Whether this import began the conversation. False = the same history did before; only what it had not stored was added. */
    created: Schema.Boolean,
    /** What was not taken from it. */
    left_out: LeftOut
  }),
  problems: [404, 409, 422],
  right: "importHistories",
  args: ["id", "input"],
  summary: "Begin a conversation with a history of another system",
  description:
    "The texts of users and assistants become runs that are over, and messages with `imported: true`; later runs are told of them. Calls and results of tools, system messages, files and reasoning are left out and counted. The conversation has to be new. The same import again changes nothing, and completes one that was interrupted."
})

export const remove = operation({
  id: "remove",
  name: "deleteConversation",
  method: "DELETE",
  path: "/v1/conversations/:id",
  params: Schema.Struct({ id: ConversationId }),
  problems: [404, 409],
  right: "deleteConversations",
  args: ["id"],
  summary: "Delete a conversation",
  description:
    "What was said, asked and decided in it is erased from every store, with its files and what waits to be delivered of it. Journals keep what happened, with digests that nobody can read. 409 while a run of it is not over: cancel it, or let it end. Repeat one that was interrupted."
})
