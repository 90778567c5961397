/** The operations that read conversations and their messages. */
import { Schema } from "effect"
import { Conversation, ConversationMessage } from "../conversation/Conversation.ts"
import { ConversationId } from "../value/Ids.ts"
import { operation } from "./Operation.ts"
import { After, Limit } from "./Page.ts"

export const list = operation({
  id: "list",
  name: "conversations",
  method: "GET",
  path: "/v1/conversations",
  query: Schema.Struct({
    limit: Schema.optionalKey(Limit),
    /** The page begins after this conversation, with older ones. */
    after: Schema.optionalKey(ConversationId)
  }),
  success: Schema.Struct({
    items: Schema.Array(Conversation),
    /** `after` of the next page; absent on the last one. */
    next_after: Schema.optionalKey(ConversationId)
  }),
  right: "follow",
  gives: "items",
  summary: "Conversations, newest first"
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
    after: Schema.optionalKey(After)
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
