/**
 * Observers of model turns and of the models that tools called, for metrics. The process that appended the event calls them once
 * it is durable: once per turn, and once per entry of a call's spending. They are synchronous and must not throw.
 */
import { Context } from "effect"
import type { TurnCost, Usage } from "../src/cost/TurnCost.ts"
import type { AgentName, RunId, Tenant } from "../src/value/Ids.ts"

export interface ModelUsed {
  readonly run: RunId
  readonly tenant: Tenant
  /**
   * The agent of the turn, which may be a specialist or an agent that the run was handed over to; for a tool, the agent that
   * called the tool.
   */
  readonly agent: AgentName
  readonly trace_id: string
  readonly model?: string
  readonly usage?: Usage
  readonly cost?: TurnCost
  /** The tool whose body called the model; absent = a turn of the agent. */
  readonly tool?: string
  /** The number of model turns that this covers; absent = one. */
  readonly turns?: number
}

/** Is called with one turn of an agent, or one entry of a call's spending. */
export type ModelTurnObserver = (used: ModelUsed) => void

export const ModelTurnObservers = Context.Reference<ReadonlyArray<ModelTurnObserver>>(
  "troupe/services/ModelTurnObservers",
  { defaultValue: () => [] }
)
