/**
 * What a principal may see. Conversations and runs of another tenant are not found, nor, for a customer, those that it
 * did not begin. The settings name the agents that customers may talk to.
 */
import { Effect } from "effect"
import type { Redacted } from "effect"
import { openConversation } from "../../../services/ConversationStore.ts"
import type { Credentials } from "../../../services/Credentials.ts"
import type { Problem } from "../../../src/operation/Problem.ts"
import type { Conversation } from "../../../src/conversation/Conversation.ts"
import { agentRefusal } from "../../../src/conversation/CustomerAccess.ts"
import type { AgentName } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { isLimitedToOwn } from "../../../src/principal/Rights.ts"
import { forbidden, problemOf } from "./Problems.ts"

/**
 * Whether the principal reads as a customer, who sees only its own conversations, and of them what `CustomerView`
 * shows.
 */
export const readsAsCustomer = (principal: Principal): boolean =>
  isLimitedToOwn(principal, "follow")

/**
 * Whether a token that was valid is still valid: it may have been revoked, or have expired. While the store does not answer, it
 * counts as valid.
 */
export const isStillValid = (
  credentials: Credentials["Service"],
  token: Redacted.Redacted
): Effect.Effect<boolean> =>
  Effect.match(credentials.verify(token), {
    onSuccess: () => true,
    onFailure: ({ _tag }) => _tag !== "Unauthorized"
  })

/** Why the principal may not send to the agent or read its answers; undefined = it may. */
export const refusalOf = (
  principal: Principal,
  right: "send" | "follow",
  agent: AgentName,
  customer_agents: ReadonlyArray<AgentName>
): Problem<403> | undefined => {
  const refusal = agentRefusal(principal, right, agent, customer_agents)
  return refusal === undefined ? undefined : forbidden(refusal.message)
}

/** A conversation that the principal may read or write to, from the store's `get` or `read`; any other is not found. */
export const conversationFor = (
  ...of: Parameters<typeof openConversation>
): Effect.Effect<Conversation, Problem<403> | Problem<404> | Problem<503>> =>
  Effect.mapError(openConversation(...of), (error) =>
    error._tag === "NotForCustomers" ? forbidden(error.message) : problemOf(error)
  )
