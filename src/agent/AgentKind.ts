/**
 * The three kinds of agent of the reference application, with whom each is for and what it is confined to.
 */
import { Schema } from "effect"
import type { AnchorKind } from "../memory/MemoryAnchors.ts"

export const AgentKind = Schema.Literals(["spectral", "world", "operations"])
export type AgentKind = typeof AgentKind.Type

interface KindFacts {
  /** Who talks with it. Only agents for customers may be named as `customer_agents`. */
  readonly audience: "customers" | "world_operators" | "operators"
  /** What one address of it is about, and its memory lasts for. */
  readonly scope: AnchorKind
}

export const agentKinds = {
  spectral: { audience: "customers", scope: "workspace" },
  world: { audience: "world_operators", scope: "world" },
  operations: { audience: "operators", scope: "operator" }
} as const satisfies Readonly<Record<AgentKind, KindFacts>>

/** Whether an agent of this kind may be open to customers, if its service says so. */
export const mayServeCustomers = (kind: AgentKind): boolean =>
  agentKinds[kind].audience === "customers"
