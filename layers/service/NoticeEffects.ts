/** The channels of conversations, and the notices of whoever asks. */
import { Effect } from "effect"
import { ChannelBindings } from "../../services/ChannelBindings.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { Notices } from "../../services/Notices.ts"
import { ConversationNotFound } from "../../src/conversation/Conversation.ts"
import { customerNotice } from "../../src/conversation/CustomerView.ts"
import * as NoticeOperations from "../../src/operation/NoticeOperations.ts"
import { limit_default } from "../../src/operation/Page.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { isLimitedToOwn } from "../../src/principal/Rights.ts"
import type { ConversationId } from "../../src/value/Ids.ts"
import { pageOf, serve } from "./Served.ts"

const bindingsOf = Effect.fnUntraced(function* ({ tenant }: Principal, id: ConversationId) {
  const found = yield* ConversationStore.use((store) => store.read(tenant, id))
  if (found === undefined) return yield* new ConversationNotFound({ id })
  return { items: yield* ChannelBindings.use((all) => all.of(tenant, id)) }
})

export const bindings = serve(NoticeOperations.bindings, ({ id }, by) => bindingsOf(by, id))

export const bind = serve(
  NoticeOperations.bind,
  Effect.fnUntraced(function* ({ id, ...target }, by) {
    yield* ChannelBindings.use((all) => all.bind(by.tenant, id, target))
    return yield* bindingsOf(by, id)
  })
)

export const unbind = serve(
  NoticeOperations.unbind,
  Effect.fnUntraced(function* ({ address, channel, id }, by) {
    yield* ChannelBindings.use((all) => all.unbind(by.tenant, id, channel, address))
    return yield* bindingsOf(by, id)
  })
)

export const list = serve(
  NoticeOperations.list,
  Effect.fnUntraced(function* ({ after, limit = limit_default, unread = false }, by) {
    const { id: recipient, tenant } = by
    const notices = yield* Notices
    const found = yield* notices.list({ tenant, recipient, limit, after, unread })
    const items = isLimitedToOwn(by, "follow") ? found.map(customerNotice) : found
    const last = items.length < limit ? undefined : items.at(-1)
    return { ...pageOf({ items, last }, "id"), unread: yield* notices.unread(tenant, recipient) }
  })
)

export const read = serve(NoticeOperations.read, ({ ids }, { id, tenant }) =>
  Effect.map(
    Notices.use((notices) => notices.read(tenant, id, ids)),
    (marked) => ({ marked })
  )
)

export const preferences = serve(NoticeOperations.preferences, (_, { id, tenant }) =>
  Notices.use((notices) => notices.preferences(tenant, id))
)

export const prefer = serve(NoticeOperations.prefer, (wanted, { id, tenant }) =>
  Notices.use((notices) => notices.prefer(tenant, id, wanted))
)
