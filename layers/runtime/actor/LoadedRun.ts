/** A run that an actor has claimed and read. */
import type { Past } from "../../../src/conversation/Compaction.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { RunHead } from "../../../services/RunReader.ts"

/** A claimed run of which nothing is in flight: it was claimed just now, or it waits for people. */
export interface LoadedRun {
  readonly head: RunHead
  readonly state: RunState
  /** How long it has been at work, in ms. */
  readonly worked_ms: number
  /** When the last entry of its journal was appended, in ms since 1970; undefined for one that has waited here. */
  readonly last_append_at: number | undefined
  readonly past: Past
}
