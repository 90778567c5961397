/** A kind of agent, which an application or a feature declares: whom its agents serve, and what their memory belongs to. */
import { Schema } from "effect"
import { AnchorKind } from "../memory/MemoryAnchors.ts"

export const AgentKindName = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]{0,62}$/, { description: "a lower-case name such as clerk" })
)

export const AgentKind = Schema.Struct({
  /** A lower-case name of at most 63 characters, by which a console groups agents. */
  name: AgentKindName,
  /** Who talks with its agents, such as `operators`. Only those for `customers` may be named in `customer_agents`. */
  audience: AgentKindName,
  /**
   * What one address of the agent is about. Its persistent memory belongs to the same thing: the start fails where its
   * `memory.anchor` says otherwise. Absent = anything.
   */
  scope: Schema.optionalKey(AnchorKind)
})
export interface AgentKind extends Schema.Schema.Type<typeof AgentKind> {}
