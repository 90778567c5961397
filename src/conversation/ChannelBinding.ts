/**
 * Where a conversation is held beside the API: each of its bindings gets what the agent says there. One conversation may be
 * bound to several channels, and to several places of one channel.
 */
import { Schema } from "effect"
import { ConversationId, Tenant } from "../Ids.ts"

/** `in_app`, `slack`, `email`, or the name of a channel of the application's own. */
export const ChannelName = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]{0,31}$/, {
    description: "lower case, at most 32 characters"
  })
).pipe(Schema.brand("ChannelName"))
export type ChannelName = typeof ChannelName.Type

export const in_app = ChannelName.make("in_app")

/** 1 to 200 printable characters. */
export const ChannelPlace = Schema.String.check(
  Schema.isMinLength(1),
  Schema.isMaxLength(200),
  Schema.makeFilter(
    // oxlint-disable-next-line no-control-regex -- it is what is refused
    (text) => (text.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(text)) || "printable characters"
  )
)

/** What a binding says, without the conversation that it is of. */
export const BindingTarget = Schema.Struct({
  channel: ChannelName,
  /** A place of the channel: a principal's id (`in_app`), a channel's id (Slack), an address (e-mail). */
  address: ChannelPlace,
  /** The principal that is told there: its preferences count, and the in-app copy is its. */
  recipient: ChannelPlace
})
export interface BindingTarget extends Schema.Schema.Type<typeof BindingTarget> {}

export const ChannelBinding = Schema.Struct({
  tenant: Tenant,
  conversation: ConversationId,
  ...BindingTarget.fields,
  /** What the channel calls the conversation at that place, such as a thread. Absent = nothing was said there yet. */
  thread: Schema.optionalKey(ChannelPlace)
})
export interface ChannelBinding extends Schema.Schema.Type<typeof ChannelBinding> {}

/** Bindings of one conversation. */
export const bindings_max = 16

/** The conversation has as many bindings as it may. */
export class BindingsFull extends Schema.TaggedError<BindingsFull>()("BindingsFull", {
  conversation: Schema.String
}) {
  override get message(): string {
    return `conversation ${this.conversation} has ${bindings_max} bindings, which is the limit`
  }
}
