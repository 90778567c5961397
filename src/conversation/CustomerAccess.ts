/**
 * What a customer may reach: the agents that are meant for customers, in conversations that it began itself. Everything else is
 * absent for it.
 */
import { Schema } from "effect"
import { AgentName } from "../Ids.ts"
import type { Principal } from "../Principal.ts"
import type { RightName } from "../Rights.ts"
import { isLimitedToOwn } from "../Rights.ts"
import type { Conversation } from "./Conversation.ts"

/** Other agents, and whether they exist, are not for customers. */
export class NotForCustomers extends Schema.TaggedError<NotForCustomers>()("NotForCustomers", {
  customer_agents: Schema.Array(AgentName)
}) {
  override get message(): string {
    return this.customer_agents.length === 0
      ? "No agent of this service speaks with customers: its setting customer_agents names none."
      : `Customers speak with ${this.customer_agents.join(", ")} only.`
  }
}

/** Undefined = the principal may use the right with this agent. */
export const agentRefusal = (
  by: Principal,
  right: RightName,
  agent: AgentName,
  customer_agents: ReadonlyArray<AgentName>
): NotForCustomers | undefined =>
  !isLimitedToOwn(by, right) || customer_agents.includes(agent)
    ? undefined
    : new NotForCustomers({ customer_agents })

/** A conversation that the principal may not use is reported like one that does not exist. */
export const isOpenTo = (
  by: Principal,
  right: RightName,
  begun_by: Conversation["begun_by"]
): boolean => !isLimitedToOwn(by, right) || begun_by === by.id
