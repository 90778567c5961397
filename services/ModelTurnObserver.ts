/**
 * Observers of model turns and of models that the bodies of tools called, for metrics. Called by the process that appended
 * the event once it is durable: once per turn, and once per entry of a call's spending. They are synchronous and must not throw.
 */
import { Context } from "effect"
import type { TurnCost } from "../src/cost/TurnCost.ts"
import type { Usage } from "../src/cost/Usage.ts"
import type { AgentName, RunId, Tenant } from "../src/Ids.ts"

export interface ModelUsed {
  readonly run: RunId
  readonly tenant: Tenant
  /** Whose turn it was, a specialist's or that of an agent it was handed over to; of a tool, the agent that called it. */
  readonly agent: AgentName
  readonly trace_id: string
  readonly model?: string
  readonly usage?: Usage
  readonly cost?: TurnCost
  /** The tool whose body called the model; absent = a turn of the agent. */
  readonly tool?: string
  /** How many turns of the model it covers; absent = one. */
  readonly turns?: number
}

/** Is called with one turn of an agent, or one entry of a call's spending. */
export type ModelTurnObserver = (used: ModelUsed) => void

export const ModelTurnObservers = Context.Reference<ReadonlyArray<ModelTurnObserver>>(
  "troupe/services/ModelTurnObservers",
  { defaultValue: () => [] }
)
