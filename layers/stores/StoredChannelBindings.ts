/**
 * The channels to which conversations are bound.
 */
import { Effect, Layer } from "effect"
import { ChannelBindings } from "../../services/ChannelBindings.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { Rows } from "../../services/Rows.ts"
import { BindingsFull, bindings_max, ChannelName } from "../../src/conversation/ChannelBinding.ts"
import { ConversationNotFound } from "../../src/conversation/Conversation.ts"
import { ConversationId, Tenant } from "../../src/value/Ids.ts"
import type { Stored } from "./TypedRows.ts"
import { optional, place, said, table, tableRows, text } from "./TypedRows.ts"

export const channelBindings = table({
  name: "channel_bindings",
  what: "channels of a conversation",
  key: ["conversation", "channel", "address", "tenant"],
  columns: {
    position: place,
    tenant: text(Tenant),
    conversation: text(ConversationId),
    channel: text(ChannelName),
    address: said,
    recipient: said,
    thread: optional(said)
  },
  erased: { removed: ["conversation", "address", "recipient", "thread"] },
  group: ["tenant", "conversation"]
})

const bindingOf = ({ position: _place, ...binding }: Stored<typeof channelBindings.columns>) =>
  binding

const make = Effect.gen(function* () {
  const driver = yield* Rows
  const conversations = yield* ConversationStore
  const rows = tableRows(driver, channelBindings)
  return ChannelBindings.of({
    bind: Effect.fn("ChannelBindings.bind")(function* (tenant, conversation, target) {
      const { address, channel } = target
      // Two who bind at once cannot exceed the limit together.
      yield* driver.alone(`troupe bindings ${tenant} ${conversation}`)
      if ((yield* conversations.get(tenant, conversation)) === undefined) {
        return yield* new ConversationNotFound({ id: conversation })
      }
      if ((yield* rows.count({ where: { tenant, conversation, channel, address } })) > 0) return
      if ((yield* rows.count({ where: { tenant, conversation } })) >= bindings_max) {
        return yield* new BindingsFull({ conversation })
      }
      yield* rows.add([{ tenant, conversation, ...target }])
    }, driver.transaction),
    unbind: Effect.fn("ChannelBindings.unbind")((tenant, conversation, channel, address) =>
      Effect.map(
        rows.remove({ where: { tenant, conversation, channel, address } }),
        (removed) => removed > 0
      )
    ),
    of: (tenant, conversation) =>
      Effect.map(rows.all({ where: { tenant, conversation }, order: ["position"] }), (found) =>
        found.map(bindingOf)
      ),
    setThread: Effect.fn("ChannelBindings.setThread")(function* (binding, thread) {
      const { address, channel, conversation, tenant } = binding
      yield* driver.alone(`troupe thread ${tenant} ${channel} ${address} ${thread}`)
      if ((yield* rows.count({ where: { tenant, channel, address, thread } })) > 0) return false
      const where = { tenant, conversation, channel, address, thread: null }
      return (yield* rows.set({ where }, { thread })) > 0
    }, driver.transaction),
    byThread: (tenant, channel, address, thread) =>
      Effect.map(rows.one({ tenant, channel, address, thread }), (found) =>
        found === undefined ? undefined : bindingOf(found)
      )
  })
})

export const layer: Layer.Layer<ChannelBindings, never, ConversationStore | Rows> = Layer.effect(
  ChannelBindings,
  make
)
