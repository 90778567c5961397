/** Whom a message goes to, and from where a conversation may be followed. */
import { Effect } from "effect"
import type { Message } from "../../services/AgentRuntime.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { notItsOwn } from "../../src/conversation/CustomerView.ts"
import { loggingRefusals } from "../../src/principal/RefusedActs.ts"
import { hiddenReason, hiding } from "../../src/principal/HiddenReason.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { isLimitedToOwn } from "../../src/principal/Rights.ts"
import type { AgentName, ConversationId } from "../../src/value/Ids.ts"
import { agentFor, conversationFor } from "./CustomerRules.ts"

/**
 * The agent that gets the principal's message: the named one, or the one that has the conversation. A customer may send only to
 * agents for customers, in conversations that it began, or that it begins with this message under an id that is its own: the
 * runtime looks whether somebody else has begun it.
 */
export const recipient = Effect.fnUntraced(function* (
  to: (
    | { readonly agent: AgentName; readonly conversation?: ConversationId }
    | { readonly agent?: AgentName; readonly conversation: ConversationId }
  ) &
    Pick<Message, "follows" | "replaces">,
  by: Principal
) {
  if (to.conversation !== undefined && isLimitedToOwn(by, "send")) {
    const { agent, conversation } = to
    // With an agent it may begin one, which the runtime decides.
    const opened = Effect.catchTag(
      conversationFor(by, "send", conversation),
      "ConversationNotFound",
      (missing) =>
        agent === undefined
          ? Effect.fail(hiding(hiddenReason(missing), notItsOwn(by, conversation)))
          : Effect.void
    )
    yield* loggingRefusals(by, "send", opened)
  }
  // By its type it names a conversation where it names no agent.
  const { conversation } = to as { readonly conversation: ConversationId }
  const agent =
    to.agent ?? (yield* AgentRuntime.use((runtime) => runtime.currentAgent(conversation, by, to)))
  yield* loggingRefusals(by, "send", agentFor(by, "send", agent))
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
  yield* loggingRefusals(by, "follow", conversationFor(by, "follow", id))
  return from === 0 ? from : yield* TaskStore.use((tasks) => tasks.newestOrdinal(by.tenant, id))
})
