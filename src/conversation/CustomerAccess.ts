/**
 * What a customer may use: the agents that are meant for customers, in conversations that it began itself. For a customer,
 * everything else does not exist.
 */
import { Schema } from "effect"
import { AgentName } from "../Ids.ts"
import type { Principal } from "../Principal.ts"
import type { RightName } from "../Rights.ts"
import { isLimitedToOwn } from "../Rights.ts"
import type { Conversation } from "./Conversation.ts"

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
