/**
 * The channels to which conversations are bound, in one process.
 */
import { Effect, Layer } from "effect"
import { ChannelBindings } from "../../services/ChannelBindings.ts"
import type { ChannelBinding } from "../../src/conversation/ChannelBinding.ts"
import { BindingsFull, bindings_max } from "../../src/conversation/ChannelBinding.ts"
import { ConversationNotFound } from "../../src/conversation/Conversation.ts"
import type { ConversationId, Tenant } from "../../src/value/Ids.ts"
import { EphemeralStore, tenantKey } from "./EphemeralStore.ts"

type Place = Pick<ChannelBinding, "channel" | "address">

const isAt =
  ({ address, channel }: Place) =>
  (binding: ChannelBinding): boolean =>
    binding.channel === channel && binding.address === address

const make = Effect.map(EphemeralStore, (store) => {
  const find = (tenant: Tenant, id: ConversationId) =>
    store.conversations.get(tenantKey(tenant, id))
  const at = (tenant: Tenant, place: Place, thread: string) => {
    for (const { conversation, bindings = [] } of store.conversations.values()) {
      if (conversation.tenant !== tenant) continue
      const found = bindings.find((each) => each.thread === thread && isAt(place)(each))
      if (found !== undefined) return found
    }
    return undefined
  }
  return ChannelBindings.of({
    bind: Effect.fn("ChannelBindings.bind")(function* (tenant, conversation, target) {
      const stored = find(tenant, conversation)
      if (stored === undefined) return yield* new ConversationNotFound({ id: conversation })
      const { bindings = [] } = stored
      if (bindings.some(isAt(target))) return
      if (bindings.length >= bindings_max) return yield* new BindingsFull({ conversation })
      stored.bindings = [...bindings, { tenant, conversation, ...target }]
    }),
    unbind: (tenant, conversation, channel, address) =>
      Effect.sync(() => {
        const stored = find(tenant, conversation)
        const isGone = isAt({ channel, address })
        const found = stored?.bindings?.some(isGone) ?? false
        if (stored !== undefined && found) {
          stored.bindings = stored.bindings?.filter((each) => !isGone(each)) ?? []
        }
        return found
      }),
    of: (tenant, conversation) => Effect.sync(() => find(tenant, conversation)?.bindings ?? []),
    setThread: (binding, thread) =>
      Effect.sync(() => {
        const stored = find(binding.tenant, binding.conversation)
        const { bindings = [] } = stored ?? {}
        const mine = bindings.find(isAt(binding))
        if (stored === undefined || mine === undefined || mine.thread !== undefined) return false
        if (at(binding.tenant, binding, thread) !== undefined) return false
        stored.bindings = bindings.map((each) => (each === mine ? { ...each, thread } : each))
        return true
      }),
    byThread: (tenant, channel, address, thread) =>
      Effect.sync(() => at(tenant, { channel, address }, thread))
  })
})

export const layer: Layer.Layer<ChannelBindings, never, EphemeralStore> = Layer.effect(
  ChannelBindings,
  make
)
