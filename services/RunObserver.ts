/**
 * Observers of runs, for lines of a log. The process that appended events calls them once after these are durable, with the state
 * of the run behind them. They are synchronous and must not throw.
 */
import { Context } from "effect"
import type { RunId } from "../src/value/Ids.ts"
import type { RunEvent } from "../src/run/RunEvent.ts"
import type { RunState } from "../src/run/RunState.ts"

export interface RunFact {
  readonly run: RunId
  readonly state: RunState
  readonly event: RunEvent
}
export type RunObserver = (fact: RunFact) => void

export const RunObservers = Context.Reference<ReadonlyArray<RunObserver>>(
  "troupe/services/RunObservers",
  { defaultValue: () => [] }
)
