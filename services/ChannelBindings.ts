/**
 * The channels that conversations are bound to. Whoever writes an agent's answer, a run's question or its end in a bound
 * conversation also announces it in the outbox, under the topics below.
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
import type { ConversationId, Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** Payloads: `{ conversation, seq }` of the answer's message, and `{ conversation, approval }` of a question. */
export const answered_topic = "conversation.answered"
/** A question was asked: its message goes to the channels of the conversation. */
export const asked_topic = "conversation.asked"
/** A question is open no more: it was decided, has expired, or its run was stopped. */
export const settled_topic = "conversation.settled"

/** In which places of which channels a conversation is. */
export class ChannelBindings extends Context.Service<
  ChannelBindings,
  {
    /** Binds a conversation to a channel; an existing binding stays as it is. A conversation has at most 16 bindings. */
    bind(
      tenant: Tenant,
      conversation: ConversationId,
      target: BindingTarget
    ): Effect.Effect<void, ConversationNotFound | BindingsFull | StoreError>
    /** Removes a binding: nothing more is sent there. False = there was no such binding. */
    unbind(
      tenant: Tenant,
      conversation: ConversationId,
      channel: ChannelName,
      address: string
    ): Effect.Effect<boolean, StoreError>
    /** The bindings of one conversation, in the order in which they were made. */
    of(
      tenant: Tenant,
      conversation: ConversationId
    ): Effect.Effect<ReadonlyArray<ChannelBinding>, StoreError>
    /**
     * Sets the thread of a binding that has none. False = the binding already has a thread or is gone, or another binding has
     * this thread.
     */
    setThread(binding: ChannelBinding, thread: string): Effect.Effect<boolean, StoreError>
    /** The binding of a thread. */
    byThread(
      tenant: Tenant,
      channel: ChannelName,
      address: string,
      thread: string
    ): Effect.Effect<ChannelBinding | undefined, StoreError>
  }
>()("troupe/services/ChannelBindings") {}
