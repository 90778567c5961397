/** Conversations and their messages. A customer reads those that it began, and of them what `CustomerView` shows. */
import { Effect } from "effect"
import { CustomerAgents } from "../../services/AgentDirectory.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { StoreError } from "../../services/StoreError.ts"
import type { Conversation, ConversationMessage } from "../../src/conversation/Conversation.ts"
import { customerConversation, customerMessage } from "../../src/conversation/CustomerView.ts"
import * as ConversationOperations from "../../src/operation/ConversationOperations.ts"
import { limit_default } from "../../src/operation/Page.ts"
import { boundedPage } from "../../src/value/Pages.ts"
import { conversationFor, isCustomer } from "./CustomerRules.ts"
import { pageOf, serve } from "./Served.ts"

export const list = serve(
  ConversationOperations.list,
  Effect.fnUntraced(function* ({ after, limit = limit_default }, by) {
    const own = isCustomer(by) ? by.id : undefined
    const found = yield* ConversationStore.use((store) => store.list(by.tenant, limit, after, own))
    const last = found.length < limit ? undefined : found.at(-1)
    if (own === undefined) return pageOf({ items: found, last }, "id")
    const customer_agents = yield* CustomerAgents
    const items = found
      .filter(({ address }) => customer_agents.includes(address.agent))
      .map((each) => customerConversation(each) as Conversation)
    return pageOf({ items, last }, "id")
  })
)

export const get = serve(
  ConversationOperations.get,
  Effect.fnUntraced(function* ({ after = -1, id, limit = limit_default }, by) {
    const conversation = yield* conversationFor(by, "follow", id)
    const store = yield* ConversationStore
    const { items, last } = yield* boundedPage<ConversationMessage, StoreError>(
      limit,
      (before, limit) => store.messages(by.tenant, id, before?.seq ?? after, limit)
    )
    const next = last === undefined ? undefined : { next_after: last.seq }
    if (!isCustomer(by)) return { conversation, messages: items, ...next }
    return {
      conversation: customerConversation(conversation) as Conversation,
      messages: items.flatMap(
        (each) => (customerMessage(each) as ConversationMessage | undefined) ?? []
      ),
      ...next
    }
  })
)
