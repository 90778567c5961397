/**
 * The channels that conversations are bound to. What an agent says in a bound conversation, and what its runs ask there, is
 * announced in the outbox by whoever writes it: `announced_topics`.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type {
  BindingsFull,
  BindingTarget,
  ChannelBinding,
  ChannelName
} from "../src/conversation/ChannelBinding.ts"
import type { ConversationNotFound } from "../src/conversation/Conversation.ts"
import type { ConversationId, Tenant } from "../src/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** Payloads: `{ conversation, seq }` of the answer's message, and `{ conversation, approval }`. */
export const answered_topic = "conversation.answered"
export const asked_topic = "conversation.asked"

export class ChannelBindings extends Context.Service<
  ChannelBindings,
  {
    /** Binds; the same again changes nothing. At most 16 of one conversation. */
    bind(
      tenant: Tenant,
      conversation: ConversationId,
      target: BindingTarget
    ): Effect.Effect<void, ConversationNotFound | BindingsFull | StoreError>
    /** Nothing more is told there. False = there was no such binding. */
    unbind(
      tenant: Tenant,
      conversation: ConversationId,
      channel: ChannelName,
      address: string
    ): Effect.Effect<boolean, StoreError>
    /** Of one conversation, first bound first. */
    of(
      tenant: Tenant,
      conversation: ConversationId
    ): Effect.Effect<ReadonlyArray<ChannelBinding>, StoreError>
    /** Names the thread of a binding that has none. False = it has one, or is gone, or another has this thread. */
    begin(binding: ChannelBinding, thread: string): Effect.Effect<boolean, StoreError>
    /** The binding of a thread. */
    at(
      tenant: Tenant,
      channel: ChannelName,
      address: string,
      thread: string
    ): Effect.Effect<ChannelBinding | undefined, StoreError>
  }
>()("troupe/services/ChannelBindings") {}
