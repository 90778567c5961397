/** What hears of a run's events once these are durable. */
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { RunId } from "../../../src/value/Ids.ts"

/** Called once after events of a run are durable, with the state after them. Never throws. */
export type OnDurable = (run: RunId, state: RunState, events: ReadonlyArray<RunEvent>) => void
