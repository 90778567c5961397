/**
 * The operations on channel bindings of conversations, on notices to people, and on their preferences.
 */
import { Schema } from "effect"
import {
  BindingTarget,
  ChannelBinding,
  ChannelName,
  ChannelPlace
} from "../conversation/ChannelBinding.ts"
import { Notice, NoticeId, NoticePreferences } from "../delivery/Notice.ts"
import { ConversationId } from "../value/Ids.ts"
import { operation } from "./Operation.ts"
import { Limit } from "./Page.ts"

const bindings_path = "/v1/conversations/:id/bindings"
const params = Schema.Struct({ id: ConversationId })
const Bindings = Schema.Struct({ items: Schema.Array(ChannelBinding) })

export const bindings = operation({
  id: "bindings",
  name: "bindings",
  method: "GET",
  path: bindings_path,
  params,
  success: Bindings,
  problems: [404],
  right: "bind",
  args: ["id"],
  gives: "items",
  summary: "The channels of a conversation"
})

export const bind = operation({
  id: "bind",
  name: "bind",
  method: "POST",
  path: bindings_path,
  params,
  payload: BindingTarget,
  success: Bindings,
  problems: [404, 409],
  right: "bind",
  args: ["id"],
  gives: "items",
  summary: "Bind a conversation to a channel",
  description:
    "What the agent says there goes to all of its bindings, at most 16. The same binding again changes nothing."
})

export const unbind = operation({
  id: "unbind",
  name: "unbind",
  method: "DELETE",
  path: bindings_path,
  params,
  query: Schema.Struct({ channel: ChannelName, address: ChannelPlace }),
  success: Bindings,
  problems: [404],
  right: "bind",
  args: ["id", "channel", "address"],
  gives: "items",
  summary: "Tell a channel nothing more"
})

export const list = operation({
  id: "list",
  name: "notices",
  method: "GET",
  path: "/v1/notices",
  query: Schema.Struct({
    /** `true` = only notices that have not been read. */
    unread: Schema.optionalKey(Schema.Boolean),
    /** How many notices a page has at most, 1 to 500. Absent = 50. */
    limit: Schema.optionalKey(Limit),
    /** The page begins after this notice, with older ones. */
    after: Schema.optionalKey(NoticeId)
  }),
  success: Schema.Struct({
    items: Schema.Array(Notice),
    /** How many notices have not been read; counting stops at 1,000. */
    unread: Schema.Int,
    /** `after` of the next page; absent on the last one. */
    next_after: Schema.optionalKey(NoticeId)
  }),
  right: "readNotices",
  gives: "items",
  summary: "What the caller was told, newest first"
})

export const read = operation({
  id: "read",
  name: "readNotices",
  method: "POST",
  path: "/v1/notices/read",
  payload: Schema.Struct({
    ids: Schema.Array(NoticeId).check(Schema.isMinLength(1), Schema.isMaxLength(500))
  }),
  success: Schema.Struct({ marked: Schema.Int }),
  right: "readNotices",
  args: ["ids"],
  summary: "Mark notices as read"
})

export const preferences = operation({
  id: "preferences",
  name: "preferences",
  method: "GET",
  path: "/v1/notices/preferences",
  success: NoticePreferences,
  right: "readNotices",
  summary: "Which channels the caller wants"
})

export const prefer = operation({
  id: "prefer",
  name: "prefer",
  method: "PUT",
  path: "/v1/notices/preferences",
  payload: NoticePreferences,
  right: "readNotices",
  summary: "Say which channels the caller wants"
})
