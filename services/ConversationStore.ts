/**
 * Reads conversations and their messages. They are written in the transactions of their tasks and runs.
 */
import { Context, Effect } from "effect"
import type { Conversation, ConversationMessage } from "../src/conversation/Conversation.ts"
import { ConversationNotFound } from "../src/conversation/Conversation.ts"
import type { NotForCustomers } from "../src/conversation/CustomerView.ts"
import { agentRefusal, isOpenTo } from "../src/conversation/CustomerView.ts"
import type { AgentName, ConversationId, Tenant } from "../src/value/Ids.ts"
import type { Principal } from "../src/principal/Principal.ts"
import type { StoreError } from "./StoreError.ts"

export class ConversationStore extends Context.Service<
  ConversationStore,
  {
    get(tenant: Tenant, id: ConversationId): Effect.Effect<Conversation | undefined, StoreError>
    /**
     * As `get`, for a principal of this tenant: a conversation of another tenant is not found. SQL stores that have a tenant role
     * also enforce this with row-level security.
     */
    read(tenant: Tenant, id: ConversationId): Effect.Effect<Conversation | undefined, StoreError>
    /**
     * Conversations, newest first; at most `limit` (up to 500). The page starts after the conversation `after` (absent = at the
     * newest one; an unknown id gives an empty page). `begun_by` selects those that this principal began (absent = all).
     */
    list(
      tenant: Tenant,
      limit: number,
      after?: ConversationId,
      begun_by?: string
    ): Effect.Effect<ReadonlyArray<Conversation>, StoreError>
    /** Messages with a seq above `after` (-1 = from the start), in order; at most `limit` (up to 500). */
    messages(
      tenant: Tenant,
      id: ConversationId,
      after: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<ConversationMessage>, StoreError>
  }
>()("troupe/services/ConversationStore") {}

/**
 * A conversation that the principal may use this right in; `find` is `get` or `read` of the store. For a customer a conversation
 * that it did not begin is not found, and one that began with an agent that is not for customers is refused.
 */
export const openConversation = Effect.fnUntraced(function* (
  find: ConversationStore["Service"]["get"],
  by: Principal,
  right: "answer" | "follow" | "send",
  id: ConversationId,
  customer_agents: ReadonlyArray<AgentName>
): Effect.fn.Return<Conversation, ConversationNotFound | NotForCustomers | StoreError> {
  const found = yield* find(by.tenant, id)
  if (found === undefined || !isOpenTo(by, right, found.begun_by)) {
    return yield* new ConversationNotFound({ id })
  }
  const refusal = agentRefusal(by, right, found.address.agent, customer_agents)
  return refusal === undefined ? found : yield* refusal
})
