/** Whom a message goes to, and from where a conversation may be followed. */
import { Effect } from "effect"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { isLimitedToOwn } from "../../src/principal/Rights.ts"
import type { AgentName, ConversationId } from "../../src/value/Ids.ts"
import { agentFor, conversationFor } from "./CustomerRules.ts"

/**
 * The agent that gets the principal's message: the named one, or the one that has the conversation. A customer may send only to
 * agents for customers, in conversations that it began: an id of its own choice might belong to somebody else.
 */
export const recipient = Effect.fnUntraced(function* (
  to:
    | { readonly agent: AgentName; readonly conversation?: ConversationId }
    | { readonly agent?: AgentName; readonly conversation: ConversationId },
  by: Principal
) {
  if (to.conversation !== undefined && isLimitedToOwn(by, "send")) {
    yield* conversationFor(by, "send", to.conversation)
  }
  // By its type it names a conversation where it names no agent.
  const { conversation } = to as { readonly conversation: ConversationId }
  const agent =
    to.agent ?? (yield* AgentRuntime.use((runtime) => runtime.currentAgent(conversation, by)))
  yield* agentFor(by, "send", agent)
  return agent
})

/**
 * The number of the newest run of a conversation, which the principal may follow; for whoever follows it from its start (0) the
 * number is not looked up.
 */
export const newestFollowed = Effect.fnUntraced(function* (
  id: ConversationId,
  from: number,
  by: Principal
) {
  yield* conversationFor(by, "follow", id)
  return from === 0 ? from : yield* TaskStore.use((tasks) => tasks.newestOrdinal(by.tenant, id))
})
