/**
 * What a customer gets through the facade: the agents that are meant for customers, the conversations that it began, and
 * of those what `CustomerView` lists.
 */
import { Context, Effect } from "effect"
import type { FeedItem } from "../../services/AgentRuntime.ts"
import { agentRefusal } from "../../src/conversation/CustomerAccess.ts"
import { customerEvent, isForCustomers } from "../../src/conversation/CustomerView.ts"
import type { AgentName } from "../../src/Ids.ts"
import type { Principal } from "../../src/Principal.ts"
import { isOnlyOwn } from "../../src/Rights.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"

/** The agents that customers speak with; none unless the start names some. */
export const CustomerAgents: Context.Reference<ReadonlyArray<AgentName>> = Context.Reference<
  ReadonlyArray<AgentName>
>("troupe/compose/CustomerAgents", { defaultValue: () => [] })

/** Fails where the agent is not one that the principal may send to, or follow. */
export const agentFor = Effect.fnUntraced(function* (
  by: Principal,
  right: "send" | "follow",
  agent: AgentName
) {
  const refusal = agentRefusal(by, right, agent, yield* CustomerAgents)
  if (refusal !== undefined) return yield* refusal
})

export const isCustomer = (by: Principal): boolean => isOnlyOwn(by, "follow")

/** Undefined = a customer sees nothing of it. What it does see of an event are the members that `CustomerEvent` has. */
export const customerItem = (item: FeedItem): FeedItem | undefined => {
  switch (item._tag) {
    case "CaughtUp":
      return item
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
