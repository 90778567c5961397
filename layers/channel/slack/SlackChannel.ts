/**
 * Delivers notices in Slack. A binding's address is a channel's id. The first message of a conversation starts a thread in that
 * channel, and the rest of the conversation follows in the thread, whose name the binding stores.
 */
import { Effect } from "effect"
import { ChannelBindings } from "../../../services/ChannelBindings.ts"
import { DeliveryFailed, DeliveryRefused } from "../../../services/DeliveryHandlers.ts"
import type { ConversationId, Tenant } from "../../../src/value/Ids.ts"
import type { ChannelAdapter } from "../NotificationService.ts"
import type { SlackMisconfigured } from "./SlackApi.ts"
import { makeSlackCall, messageOf, slack, SlackConfig } from "./SlackApi.ts"

export { SlackConfig, SlackMisconfigured } from "./SlackApi.ts"
export type { SlackUser } from "./SlackApi.ts"

/**
 * The channel `slack`: posts notices and questions, and settles a question in its post. Fails to build if the configuration is
 * wrong.
 */
export const adapter: Effect.Effect<
  ChannelAdapter,
  SlackMisconfigured,
  SlackConfig | ChannelBindings
> = Effect.gen(function* () {
  const { tenant: own } = yield* SlackConfig
  const call = yield* makeSlackCall
  const bindings = yield* ChannelBindings

  const bindingOf = (tenant: Tenant, conversation: ConversationId, address: string) =>
    Effect.mapBoth(bindings.of(tenant, conversation), {
      onSuccess: (all) => all.find((each) => each.channel === slack && each.address === address),
      onFailure: ({ message }) => new DeliveryFailed({ message })
    })

  return {
    name: slack,
    deliver: Effect.fnUntraced(function* ({ address, contents, post }, { tenant }) {
      if (tenant !== own) {
        return yield* new DeliveryRefused({
          message: "this workspace of Slack is another tenant's"
        })
      }
      if (post !== undefined) {
        const [channel = "", ts = ""] = post.split(" ")
        yield* call("chat.update", { channel, ts, ...messageOf(contents) })
        return
      }
      const [{ conversation } = { conversation: undefined }] = contents
      const binding =
        conversation === undefined || contents.length > 1
          ? undefined
          : yield* bindingOf(tenant, conversation, address)
      const { channel, ts } = yield* call("chat.postMessage", {
        channel: address,
        ...messageOf(contents),
        unfurl_links: false,
        unfurl_media: false,
        ...(binding?.thread === undefined ? undefined : { thread_ts: binding.thread })
      })
      if (ts === undefined) return
      if (binding !== undefined && binding.thread === undefined) {
        // Where it cannot be kept, the message is there, and the next one begins a thread.
        yield* Effect.catch(bindings.setThread(binding, ts), ({ message }) =>
          Effect.logWarning(`a thread of Slack was not kept: ${message}`)
        )
      }
      return `${typeof channel === "string" ? channel : address} ${ts}`
    })
  }
})
