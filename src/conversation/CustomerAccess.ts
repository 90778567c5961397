/**
 * What a customer may use: the agents that are meant for customers, in conversations that it began itself. For a customer,
 * everything else does not exist.
 */
import { Schema } from "effect"
import { NotEntitled } from "../principal/NotEntitled.ts"
import { AgentName } from "../value/Ids.ts"
import type { Principal } from "../principal/Principal.ts"
import type { RightName } from "../principal/Rights.ts"
import { isLimitedToOwn, rolesFor } from "../principal/Rights.ts"
import type { Conversation, InitiatedBy } from "./Conversation.ts"

/** A customer named an agent that is not open to customers. The error does not say whether that agent exists. */
export class NotForCustomers extends Schema.TaggedError<NotForCustomers>()("NotForCustomers", {
  customer_agents: Schema.Array(AgentName)
}) {
  override get message(): string {
    return this.customer_agents.length === 0
      ? "No agent of this service speaks with customers: its setting customer_agents names none."
      : `Customers speak with ${this.customer_agents.join(", ")} only.`
  }
}

/** The error if the principal may not use this right with this agent; undefined = it may. */
export const agentRefusal = (
  by: Principal,
  right: RightName,
  agent: AgentName,
  customer_agents: ReadonlyArray<AgentName>
): NotForCustomers | undefined =>
  !isLimitedToOwn(by, right) || customer_agents.includes(agent)
    ? undefined
    : new NotForCustomers({ customer_agents })

/**
 * Whether the principal may use this right in a conversation that `begun_by` began. If not, callers report the conversation like
 * one that does not exist.
 */
export const isOpenTo = (
  by: Principal,
  right: RightName,
  begun_by: Conversation["begun_by"]
): boolean => !isLimitedToOwn(by, right) || begun_by === by.id

/**
 * The error if the message has a member that customers may not set; undefined = it has none. The answer schema is part of the
 * instructions, tools trust the context, and a conversation that a customer did not begin may be handed over to agents for staff.
 */
export const messageRefusal = (
  by: Principal,
  message: {
    readonly answer_schema?: unknown
    readonly context?: unknown
    readonly initiated_by?: InitiatedBy | undefined
  }
): NotEntitled | undefined => {
  const { answer_schema, context, initiated_by = "customer" } = message
  const isPlain =
    answer_schema === undefined && context === undefined && initiated_by === "customer"
  if (isPlain || !isLimitedToOwn(by, "send")) return undefined
  const needs = rolesFor("send").filter((role) => role !== "customer")
  return new NotEntitled({ principal: by.id, needs })
}
