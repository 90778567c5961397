/**
 * What a principal may see. Another tenant's things are not found; a customer's are those of the one agent that speaks
 * with customers.
 */
import { Effect } from "effect"
import type { ConversationStore } from "../../services/ConversationStore.ts"
import type { StoreError, TaskStore } from "../../services/TaskStore.ts"
import { staff } from "../../src/api/Boundary.ts"
import type { Problem } from "../../src/api/Problem.ts"
import type { Conversation } from "../../src/conversation/Conversation.ts"
import { ConversationNotFound } from "../../src/conversation/Conversation.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import type { ConversationId, RunId } from "../../src/Ids.ts"
import { AgentName } from "../../src/Ids.ts"
import type { Principal } from "../../src/Principal.ts"
import { holds } from "../../src/Principal.ts"
import { RunNotFound } from "../../src/run/RunCommand.ts"
import { forbidden, problemOf } from "./Problems.ts"

/** The one agent that customers speak with. */
export const customer_agent = AgentName.make("spectral")

/** Holds nothing but the role of a customer. */
export const isCustomer = (principal: Principal): boolean => !holds(principal, staff)

export const notForCustomers: Problem<403> = forbidden(
  `Customers speak with agent ${customer_agent} only.`
)

/** A conversation that the principal may read. */
export const conversationFor = (
  store: ConversationStore["Service"],
  principal: Principal,
  id: ConversationId
): Effect.Effect<Conversation, Problem<403> | Problem<404> | Problem<503>> =>
  Effect.flatMap(
    Effect.mapError(store.get(principal.tenant, id), problemOf<StoreError>),
    (conversation): Effect.Effect<Conversation, Problem<403> | Problem<404>> =>
      conversation === undefined
        ? Effect.fail(problemOf(new ConversationNotFound({ id })))
        : isCustomer(principal) && conversation.address.agent !== customer_agent
          ? Effect.fail(notForCustomers)
          : Effect.succeed(conversation)
  )

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
