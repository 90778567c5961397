/**
 * Handlers of the channels of conversations, and of the notices of the calling principal.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { ChannelBindings } from "../../../services/ChannelBindings.ts"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import { Notices } from "../../../services/Notices.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { ConversationNotFound } from "../../../src/conversation/Conversation.ts"
import { customerNotice } from "../../../src/conversation/CustomerView.ts"
import type { ConversationId } from "../../../src/value/Ids.ts"
import { readsAsCustomer } from "../boundary/Access.ts"
import { problemOf } from "../boundary/Problems.ts"

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "notices">,
  never,
  ChannelBindings | ConversationStore | Notices | Authentication | Validation | RequestBody
> = HttpApiBuilder.group(
  TroupeApi,
  "notices",
  Effect.fnUntraced(function* (handlers) {
    const bindings = yield* ChannelBindings
    const conversations = yield* ConversationStore
    const notices = yield* Notices

    const bindingsOf = Effect.fnUntraced(function* (id: ConversationId) {
      const { tenant } = yield* CurrentPrincipal
      const found = yield* Effect.mapError(conversations.read(tenant, id), problemOf<StoreError>)
      if (found === undefined)
        return yield* Effect.fail(problemOf(new ConversationNotFound({ id })))
      return { items: yield* Effect.mapError(bindings.of(tenant, id), problemOf<StoreError>) }
    })

    return handlers.handleAll({
      bindings: ({ params }) => bindingsOf(params.id),
      bind: Effect.fnUntraced(function* ({ params, payload }) {
        const { tenant } = yield* CurrentPrincipal
        yield* Effect.mapError(bindings.bind(tenant, params.id, payload), (error) =>
          problemOf(error)
        )
        return yield* bindingsOf(params.id)
      }),
      unbind: Effect.fnUntraced(function* ({ params, query }) {
        const { tenant } = yield* CurrentPrincipal
        const { address, channel } = query
        yield* Effect.mapError(bindings.unbind(tenant, params.id, channel, address), (error) =>
          problemOf(error)
        )
        return yield* bindingsOf(params.id)
      }),
      list: Effect.fnUntraced(function* ({ query }) {
        const by = yield* CurrentPrincipal
        const { id: recipient, tenant } = by
        const { after, limit = limit_default } = query
        const page = { tenant, recipient, limit, after, unread: query.unread === "true" }
        const found = yield* Effect.mapError(notices.list(page), problemOf<StoreError>)
        const unread = yield* Effect.mapError(
          notices.unread(tenant, recipient),
          problemOf<StoreError>
        )
        const items = readsAsCustomer(by) ? found.map(customerNotice) : found
        const last = found.length < limit ? undefined : found.at(-1)
        return last === undefined ? { items, unread } : { items, unread, next_after: last.id }
      }),
      read: Effect.fnUntraced(function* ({ payload }) {
        const { id, tenant } = yield* CurrentPrincipal
        const marked = yield* Effect.mapError(
          notices.read(tenant, id, payload.ids),
          problemOf<StoreError>
        )
        return { marked }
      }),
      preferences: Effect.fnUntraced(function* () {
        const { id, tenant } = yield* CurrentPrincipal
        return yield* Effect.mapError(notices.preferences(tenant, id), problemOf<StoreError>)
      }),
      prefer: Effect.fnUntraced(function* ({ payload }) {
        const { id, tenant } = yield* CurrentPrincipal
        yield* Effect.mapError(notices.prefer(tenant, id, payload), problemOf<StoreError>)
      })
    })
  })
)
