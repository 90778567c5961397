/**
 * The three kinds of agent in the reference application: whom each one serves, and what its addresses and its memory are limited
 * to.
 */
import { Schema } from "effect"
import type { AnchorKind } from "../memory/MemoryAnchors.ts"

export const AgentKind = Schema.Literals(["spectral", "world", "operations"])
export type AgentKind = typeof AgentKind.Type

interface KindFacts {
  /** Who talks with it. Only agents for customers may be named as `customer_agents`. */
  readonly audience: "customers" | "world_operators" | "operators"
  /**
   * What one address of the agent is about. Its persistent memory belongs to the same thing: the start fails where its
   * `memory.anchor` says otherwise.
   */
  readonly scope: AnchorKind
}

export const agentKinds = {
  spectral: { audience: "customers", scope: "workspace" },
  world: { audience: "world_operators", scope: "world" },
  operations: { audience: "operators", scope: "operator" }
} as const satisfies Readonly<Record<AgentKind, KindFacts>>

/** Whether a service may name an agent of this kind in `customer_agents`. */
export const mayServeCustomers = (kind: AgentKind): boolean =>
  agentKinds[kind].audience === "customers"
