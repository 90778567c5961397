/**
 * The endpoints of channel bindings of conversations, of notices to people, and of their preferences.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  BindingTarget,
  ChannelBinding,
  ChannelName,
  ChannelPlace
} from "../conversation/ChannelBinding.ts"
import { Notice, NoticeId, NoticePreferences } from "../delivery/Notice.ts"
import { ConversationId } from "../value/Ids.ts"
import { rolesFor } from "../principal/Rights.ts"
import { Authentication, Needs, RequestBody, Validation } from "./Boundary.ts"
import { Limit } from "./Page.ts"
import { Problem404, Problem409 } from "./Problem.ts"

const bindings_path = "/v1/conversations/:id/bindings"
const params = { id: ConversationId }
const Bindings = Schema.Struct({ items: Schema.Array(ChannelBinding) })

const bindings = HttpApiEndpoint.get("bindings", bindings_path, {
  params,
  success: Bindings,
  error: Problem404
})
  .annotate(Needs, rolesFor("bind"))
  .annotateMerge(OpenApi.annotations({ summary: "The channels of a conversation" }))

const bind = HttpApiEndpoint.post("bind", bindings_path, {
  params,
  payload: BindingTarget,
  success: Bindings,
  error: [Problem404, Problem409]
})
  .annotate(Needs, rolesFor("bind"))
  .annotateMerge(
    OpenApi.annotations({
      summary: "Bind a conversation to a channel",
      description:
        "What the agent says there goes to all of its bindings, at most 16. The same binding again changes nothing."
    })
  )
  .middleware(RequestBody)

const unbind = HttpApiEndpoint.delete("unbind", bindings_path, {
  params,
  query: { channel: ChannelName, address: ChannelPlace },
  success: Bindings,
  error: Problem404
})
  .annotate(Needs, rolesFor("bind"))
  .annotateMerge(OpenApi.annotations({ summary: "Tell a channel nothing more" }))

const list = HttpApiEndpoint.get("list", "/v1/notices", {
  query: {
    /** `true` = only notices that have not been read. */
    unread: Schema.optionalKey(Schema.Literals(["true", "false"])),
    limit: Schema.optionalKey(Limit),
    /** The page begins after this notice, with older ones. */
    after: Schema.optionalKey(NoticeId)
  },
  success: Schema.Struct({
    items: Schema.Array(Notice),
    /** How many notices have not been read; counting stops at 1,000. */
    unread: Schema.Int,
    /** `after` of the next page; absent on the last one. */
    next_after: Schema.optionalKey(NoticeId)
  })
})
  .annotate(Needs, rolesFor("readNotices"))
  .annotateMerge(OpenApi.annotations({ summary: "What the caller was told, newest first" }))

const read = HttpApiEndpoint.post("read", "/v1/notices/read", {
  payload: Schema.Struct({
    ids: Schema.Array(NoticeId).check(Schema.isMinLength(1), Schema.isMaxLength(500))
  }),
  success: Schema.Struct({ marked: Schema.Int })
})
  .annotate(Needs, rolesFor("readNotices"))
  .annotateMerge(OpenApi.annotations({ summary: "Mark notices as read" }))
  .middleware(RequestBody)

const preferences = HttpApiEndpoint.get("preferences", "/v1/notices/preferences", {
  success: NoticePreferences
})
  .annotate(Needs, rolesFor("readNotices"))
  .annotateMerge(OpenApi.annotations({ summary: "Which channels the caller wants" }))

const prefer = HttpApiEndpoint.put("prefer", "/v1/notices/preferences", {
  payload: NoticePreferences,
  success: HttpApiSchema.NoContent
})
  .annotate(Needs, rolesFor("readNotices"))
  .annotateMerge(OpenApi.annotations({ summary: "Say which channels the caller wants" }))
  .middleware(RequestBody)

export class NoticesApi extends HttpApiGroup.make("notices")
  .add(bindings, bind, unbind, list, read, preferences, prefer)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Channels and notices" })) {}
