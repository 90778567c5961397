/**
 * What a principal may see. Another tenant's things are not found, and neither are the conversations that a customer did
 * not begin itself; with which agents customers speak, the settings say.
 */
import { Effect } from "effect"
import type { ConversationStore } from "../../services/ConversationStore.ts"
import type { StoreError, TaskStore } from "../../services/TaskStore.ts"
import { staff } from "../../src/api/Boundary.ts"
import type { Problem } from "../../src/api/Problem.ts"
import type { Conversation } from "../../src/conversation/Conversation.ts"
import { ConversationNotFound } from "../../src/conversation/Conversation.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import type { AgentName, ConversationId, RunId } from "../../src/Ids.ts"
import type { Principal } from "../../src/Principal.ts"
import { holds } from "../../src/Principal.ts"
import { RunNotFound } from "../../src/run/RunCommand.ts"
import { forbidden, problemOf } from "./Problems.ts"

/** Holds nothing but the role of a customer. */
export const isCustomer = (principal: Principal): boolean => !holds(principal, staff)

/** May the principal speak with the agent? Undefined = yes. */
export const refusalOf = (
  principal: Principal,
  agent: AgentName,
  customer_agents: ReadonlyArray<AgentName>
): Problem<403> | undefined =>
  !isCustomer(principal) || customer_agents.includes(agent)
    ? undefined
    : forbidden(
        customer_agents.length === 0
          ? "No agent of this service speaks with customers: its setting customer_agents names none."
          : `Customers speak with ${customer_agents.join(", ")} only.`
      )

/** A conversation that the principal may read and write. */
export const conversationFor = Effect.fnUntraced(function* (
  store: ConversationStore["Service"],
  principal: Principal,
  id: ConversationId,
  customer_agents: ReadonlyArray<AgentName>
): Effect.fn.Return<Conversation, Problem<403> | Problem<404> | Problem<503>> {
  const found = yield* Effect.mapError(store.get(principal.tenant, id), problemOf<StoreError>)
  const isTheirs = !isCustomer(principal) || found?.begun_by === principal.id
  if (found === undefined || !isTheirs) {
    return yield* Effect.fail(problemOf(new ConversationNotFound({ id })))
  }
  const refusal = refusalOf(principal, found.address.agent, customer_agents)
  return refusal === undefined ? found : yield* Effect.fail(refusal)
})

/** A run's task, if it is one of the principal's tenant. */
export const taskFor = (
  store: TaskStore["Service"],
  principal: Principal,
  id: RunId
): Effect.Effect<AgentTask, Problem<404> | Problem<503>> =>
  Effect.flatMap(
    Effect.mapError(store.get(id), problemOf<StoreError>),
    (task): Effect.Effect<AgentTask, Problem<404>> =>
      task === undefined || task.tenant !== principal.tenant
        ? Effect.fail(problemOf(new RunNotFound({ run_id: id })))
        : Effect.succeed(task)
  )
