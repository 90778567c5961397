/**
 * Conversations in one process.
 */
import { Effect, Layer } from "effect"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { Conversation } from "../../src/conversation/Conversation.ts"
import type { ConversationId, Tenant } from "../../src/value/Ids.ts"
import { EphemeralStore, indexAfter, tenantKey } from "./EphemeralStore.ts"

const page_max = 500

const make = Effect.map(EphemeralStore, (store) => {
  const find = (tenant: Tenant, id: ConversationId) =>
    store.conversations.get(tenantKey(tenant, id))
  return ConversationStore.of({
    get: (tenant, id) => Effect.sync(() => find(tenant, id)?.conversation),
    read: (tenant, id) => Effect.sync(() => find(tenant, id)?.conversation),
    list: (tenant, limit, after, begun_by) =>
      Effect.sync(() => {
        const all = store.conversationsOf.get(tenant) ?? []
        const found: Array<Conversation> = []
        const end = after === undefined ? all.length : all.findIndex(({ id }) => id === after)
        for (const each of all.slice(0, Math.max(end, 0)).toReversed()) {
          if (found.length >= Math.min(limit, page_max)) break
          if (begun_by === undefined || each.begun_by === begun_by) found.push(each)
        }
        return found
      }),
    messages: (tenant, id, after, limit) =>
      Effect.sync(() => {
        const all = find(tenant, id)?.messages ?? []
        const from = indexAfter(all, after, ({ seq }) => seq)
        return all.slice(from, from + Math.min(limit, page_max))
      })
  })
})

export const layer: Layer.Layer<ConversationStore, never, EphemeralStore> = Layer.effect(
  ConversationStore,
  make
)
