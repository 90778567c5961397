/** The three kinds of agent in the reference application. */
import type { AgentKind } from "../../agent/AgentSpec.ts"

export const spectralKinds = {
  spectral: { name: "spectral", audience: "customers", scope: "workspace" },
  world: { name: "world", audience: "world_operators", scope: "world" },
  operations: { name: "operations", audience: "operators", scope: "operator" }
} as const satisfies Readonly<Record<string, AgentKind>>
