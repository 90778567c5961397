/** What the processes of a shop with a budget share. */
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Budget } from "../../src/cost/Budget.ts"

export const shop = AgentSpec.make({ name: "shop", instructions: "Help." })

/** One call, for all. */
export const budgets: ReadonlyArray<Budget> = [
  { name: "once", scope: "tenant", period: "none", calls: 1 }
]
