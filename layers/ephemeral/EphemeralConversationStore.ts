/**
 * Conversations in one process.
 */
import { Effect, Layer } from "effect"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { Conversation } from "../../src/conversation/Conversation.ts"
import type { ConversationId, Tenant } from "../../src/Ids.ts"
import { EphemeralStore, pair } from "./EphemeralStore.ts"

const page_max = 500

const make = Effect.map(EphemeralStore, (store) => {
  const find = (tenant: Tenant, id: ConversationId) => store.conversations.get(pair(tenant, id))
  return ConversationStore.of({
    get: (tenant, id) => Effect.sync(() => find(tenant, id)?.conversation),
    list: (tenant, limit, before = Infinity) =>
      Effect.sync(() => {
        const all = store.conversationsOf.get(tenant) ?? []
        const found: Array<Conversation> = []
        for (let i = all.length - 1; i >= 0 && found.length < Math.min(limit, page_max); i--) {
          if (all[i]!.created_at < before) found.push(all[i]!)
        }
        return found
      }),
    messages: (tenant, id, after, limit) =>
      Effect.sync(
        () =>
          find(tenant, id)?.messages.slice(after + 1, after + 1 + Math.min(limit, page_max)) ?? []
      )
  })
})

export const layer: Layer.Layer<ConversationStore, never, EphemeralStore> = Layer.effect(
  ConversationStore,
  make
)
