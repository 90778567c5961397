/**
 * A place outside the API to which a conversation's messages go: each binding receives what the agent says. One conversation may
 * be bound to several channels, and to several places in one channel.
 */
import { Schema } from "effect"
import { ConversationId, plainText, Tenant } from "../value/Ids.ts"
import { textUpTo } from "../value/Bounds.ts"

/** The name of a channel: `in_app`, `slack`, `email`, or one that the application defines. */
export const ChannelName = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]{0,31}$/, {
    description: "lower case, at most 32 characters"
  })
).pipe(Schema.brand("ChannelName"))
export type ChannelName = typeof ChannelName.Type

export const in_app = ChannelName.make("in_app")

/** A name or address in a channel: 1 to 200 printable characters. */
export const ChannelPlace = textUpTo(200).check(plainText)

export const email = ChannelName.make("email")

/**
 * One mailbox: no name, no comment, no second one and no quotation marks, so that only the recipient of a binding gets a message.
 * A local part that begins with a hyphen would be an option to some mail programs.
 */
const mailbox =
  /^(?!-)[^\s\p{C}@<>()[\]\\,;:"'`]{1,64}@(?=.{1,190}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?){0,20}$/u

export const isMailbox = (address: string): boolean => mailbox.test(address)

/** A binding without its conversation. */
export const BindingTarget = Schema.Struct({
  channel: ChannelName,
  /** The place in the channel: a principal's id (`in_app`), a channel's id (Slack), or an address (e-mail). */
  address: ChannelPlace,
  /** The principal that is notified at this place. Its preferences apply, and the in-app copy belongs to it. */
  recipient: ChannelPlace
}).check(
  Schema.makeFilter(
    ({ address, channel }) =>
      channel !== email ||
      isMailbox(address) || {
        path: ["address"],
        issue: "Expected one mailbox, such as jane@example.com"
      }
  )
)
export interface BindingTarget extends Schema.Schema.Type<typeof BindingTarget> {}

export const ChannelBinding = Schema.Struct({
  tenant: Tenant,
  conversation: ConversationId,
  ...BindingTarget.fields,
  /** The channel's own id for the conversation at that place, such as a thread. Absent = nothing has been sent there yet. */
  thread: Schema.optionalKey(ChannelPlace)
})
export interface ChannelBinding extends Schema.Schema.Type<typeof ChannelBinding> {}

/** The greatest number of bindings of one conversation. */
export const bindings_max = 16

/** The conversation already has the greatest number of bindings. */
export class BindingsFull extends Schema.TaggedError<BindingsFull>()("BindingsFull", {
  /** The conversation that has them. */
  conversation: Schema.String
}) {
  override get message(): string {
    return `conversation ${this.conversation} has ${bindings_max} bindings, which is the limit`
  }
}
