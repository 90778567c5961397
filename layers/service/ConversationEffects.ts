/** Conversations and their messages. A customer reads those that it began, and of them what `CustomerView` shows. */
import { Effect } from "effect"
import { CustomerAgents } from "../../services/AgentDirectory.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import type { StoreError } from "../../services/StoreError.ts"
import type { Conversation, ConversationMessage } from "../../src/conversation/Conversation.ts"
import { ConversationNotFound, imported_origin } from "../../src/conversation/Conversation.ts"
import {
  customerConversation,
  customerConversationItem,
  customerMessage,
  messageRefusal
} from "../../src/conversation/CustomerView.ts"
import * as ConversationOperations from "../../src/operation/ConversationOperations.ts"
import { whoOf } from "../../src/principal/Principal.ts"
import { wordsIn } from "../../src/operation/Filters.ts"
import { limit_default } from "../../src/operation/Page.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { currentBranch } from "../../src/run/Branch.ts"
import { boundedPage } from "../../src/value/Pages.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { conversationFor, isCustomer } from "./CustomerRules.ts"
import { serve } from "./Served.ts"

export const list = serve(
  ConversationOperations.list,
  Effect.fnUntraced(function* ({ after, limit = limit_default, search }, by) {
    const isOwn = isCustomer(by)
    const words = search === undefined ? undefined : wordsIn(search)
    const { items, next } = yield* ConversationStore.use((store) =>
      store.list({ tenant: by.tenant, limit, after, words, begun_by: isOwn ? by.id : undefined })
    )
    const customer_agents = yield* CustomerAgents
    return {
      items: isOwn
        ? items
            .filter(({ address }) => customer_agents.includes(address.agent))
            .map(customerConversationItem)
        : items,
      ...defined({ next_after: next })
    }
  })
)

export const change = serve(
  ConversationOperations.change,
  Effect.fnUntraced(function* ({ id, ...given }, by) {
    const { tenant } = by
    const refusal = messageRefusal(by, { metadata: given.metadata })
    if (refusal !== undefined) return yield* refusal
    yield* conversationFor(by, "send", id)
    const { change, list } = yield* ConversationStore
    yield* change(tenant, id, given)
    const [item] = (yield* list({ tenant, limit: 1, id })).items
    if (item === undefined) return yield* new ConversationNotFound({ id })
    return isCustomer(by) ? customerConversationItem(item) : item
  })
)

export const remove = serve(
  ConversationOperations.remove,
  Effect.fnUntraced(function* ({ id }, by) {
    yield* conversationFor(by, "deleteConversations", id)
    yield* SubjectErasure.use((erasures) =>
      erasures.eraseConversation({ tenant: by.tenant, conversation: id, ...whoOf(by) })
    )
  })
)

/** An imported message says so. One without a text stands for none: the assistant spoke first. */
const shownMessage = (message: ConversationMessage): ReadonlyArray<ConversationMessage> =>
  message.channel_origin !== imported_origin
    ? [message]
    : message.content === ""
      ? []
      : [{ ...message, imported: true }]

export const get = serve(
  ConversationOperations.get,
  Effect.fnUntraced(function* ({ after = -1, id, limit = limit_default, superseded = false }, by) {
    const conversation = yield* conversationFor(by, "follow", id)
    const store = yield* ConversationStore
    const tasks = yield* TaskStore
    const branches = yield* tasks.branches(by.tenant, id)
    const shown =
      branches.length === 0
        ? undefined
        : {
            current: currentBranch(yield* tasks.newestOrdinal(by.tenant, id), branches),
            others: superseded
          }
    const { items, last } = yield* boundedPage<ConversationMessage, StoreError>(
      limit,
      (before, limit) => store.messages(by.tenant, id, before?.seq ?? after, limit, shown)
    )
    const next = last === undefined ? undefined : { next_after: last.seq }
    const messages = items.flatMap(shownMessage)
    if (!isCustomer(by)) return { conversation, messages, ...next }
    return {
      conversation: customerConversation(conversation) as Conversation,
      messages: messages.flatMap(
        (each) => (customerMessage(each) as ConversationMessage | undefined) ?? []
      ),
      ...next
    }
  })
)
