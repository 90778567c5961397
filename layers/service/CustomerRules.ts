/**
 * What a customer may see through the service: the agents for customers, the conversations that it began, and of those the
 * members that `CustomerView` lists.
 */
import { Effect } from "effect"
import type { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { CustomerAgents } from "../../services/AgentDirectory.ts"
import { ConversationStore, openConversation } from "../../services/ConversationStore.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { NotForCustomers } from "../../src/conversation/CustomerView.ts"
import {
  agentRefusal,
  isOpenTo,
  customerEvent,
  isForCustomers
} from "../../src/conversation/CustomerView.ts"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import type { AgentName, ConversationId, RunId } from "../../src/value/Ids.ts"
import { logRefusedAct } from "../../src/principal/RefusedActs.ts"
import { begunBy, hiding } from "../../src/principal/HiddenReason.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { isLimitedToOwn } from "../../src/principal/Rights.ts"
import { customerQueuedBehind } from "../../src/run/QueuedBehind.ts"
import { RunNotFound } from "../../src/run/RunCommand.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { listNames } from "../../src/value/Nearest.ts"

/**
 * Checks that each name is that of an agent that may be for customers. Fails at the first other name: one that no agent has, with
 * the names that exist, or one of an agent whose kind is not for customers.
 */
export const checkCustomerAgents = Effect.fnUntraced(function* (
  customer_agents: ReadonlyArray<AgentName>,
  agents: ReadonlyArray<Pick<AgentSpec, "kind" | "name">>,
  field: string
) {
  const known = new Map(agents.map(({ kind, name }) => [name, kind]))
  for (const [index, name] of customer_agents.entries()) {
    const given = JSON.stringify(name)
    if (!known.has(name)) {
      return yield* new InvalidInput({
        field: `${field}.${index}`,
        reason: `there is no agent ${given}.${listNames([...known.keys()])}`
      })
    }
    const kind = known.get(name)
    if (kind !== undefined && kind.audience !== "customers") {
      return yield* new InvalidInput({
        field: `${field}.${index}`,
        reason: `${given} is an agent of the kind "${kind.name}", which is never for customers`
      })
    }
  }
  return customer_agents
})

/** Fails if the principal may not send to the agent, or may not follow it. */
export const agentFor = (
  by: Principal,
  right: "send" | "follow",
  agent: AgentName
): Effect.Effect<void, NotForCustomers> =>
  isLimitedToOwn(by, right)
    ? Effect.flatMap(CustomerAgents, (customer_agents) => {
        const refusal = agentRefusal(by, right, agent, customer_agents)
        return refusal === undefined ? Effect.void : Effect.fail(refusal)
      })
    : Effect.void

/** The conversation, if the principal may use this right in it; found as the store's `read` finds it. */
export const conversationFor = Effect.fnUntraced(function* (
  by: Principal,
  right: "answer" | "deleteConversations" | "follow" | "send",
  id: ConversationId
) {
  const { read } = yield* ConversationStore
  return yield* openConversation(read, by, right, id, yield* CustomerAgents)
})

export const isCustomer = (by: Principal): boolean => isLimitedToOwn(by, "follow")

/**
 * Returns the task if the principal may follow it. The task has to be of the principal's tenant; a customer finds only its own.
 */
export const followable = Effect.fnUntraced(function* (task: AgentTask, by: Principal) {
  if (!isOpenTo(by, "follow", task.by)) {
    const missing = hiding(begunBy(task.by), new RunNotFound({ run_id: task.id }))
    yield* logRefusedAct(by, "follow", missing)
    return yield* missing
  }
  yield* agentFor(by, "follow", task.address.agent)
  return task
})

/** The task of a run of the principal's tenant. Runs of other tenants are not found; a customer finds only its own. */
export const followedTask = Effect.fnUntraced(function* (run: RunId, by: Principal) {
  const task = yield* TaskStore.use((tasks) => tasks.read(by.tenant, run))
  return task === undefined ? yield* new RunNotFound({ run_id: run }) : yield* followable(task, by)
})

/** The item as a customer sees it, with the members of `CustomerEvent`; undefined = it is hidden. */
export const customerItem = (item: FeedItem): FeedItem | undefined => {
  switch (item._tag) {
    case "CaughtUp":
      return item
    case "Queued":
      return { ...item, behind: customerQueuedBehind(item.behind) }
    case "Delta":
      return isForCustomers(item.frame, item.kind) ? item : undefined
    case "Output":
      return isForCustomers(item.frame, "output") ? item : undefined
    case "Event": {
      const event = customerEvent(item.entry.event)
      return event === undefined
        ? undefined
        : { ...item, entry: { ...item.entry, event: event as Partial<RunEvent> as RunEvent } }
    }
  }
}
