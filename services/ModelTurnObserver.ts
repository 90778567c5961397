/**
 * Who is told of model turns: metrics. Called once per turn, after it is durable, by the process that appended it.
 * Observers are synchronous and must not throw.
 */
import { Context } from "effect"
import type { ModelTurned } from "../src/run/RunEvent.ts"

export type ModelTurnObserver = (turn: ModelTurned) => void

export const ModelTurnObservers = Context.Reference<ReadonlyArray<ModelTurnObserver>>(
  "troupe/services/ModelTurnObservers",
  { defaultValue: () => [] }
)
