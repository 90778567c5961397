/**
 * Who is told of model turns, and of models that the bodies of tools called: metrics. Called once per turn, and once per
 * entry of what a call spent, after it is durable, by the process that appended it.
 * Observers are synchronous and must not throw.
 */
import { Context } from "effect"
import type { TurnCost } from "../src/cost/TurnCost.ts"
import type { Usage } from "../src/cost/Usage.ts"

export interface ModelUsed {
  readonly model?: string
  readonly usage?: Usage
  readonly cost?: TurnCost
  /** Whose body called the model; absent = a turn of the agent's own. */
  readonly tool?: string
  /** How many turns of the model are in it; absent = one. */
  readonly turns?: number
}

/** A turn is the event that it was journaled as. */
export type ModelTurnObserver = (used: ModelUsed) => void

export const ModelTurnObservers = Context.Reference<ReadonlyArray<ModelTurnObserver>>(
  "troupe/services/ModelTurnObservers",
  { defaultValue: () => [] }
)
