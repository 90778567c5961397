/**
 * What a compaction does to a run's state: its frame is shown less from then on.
 */
import { cutTranscript } from "../conversation/Compaction.ts"
import type { Compacted } from "./RunEvent.ts"
import type { FrameState, RunState } from "./RunState.ts"
import { chargeTurn, tokensOf } from "./RunUsage.ts"
import { frameOf } from "./RunLookup.ts"

/** A prompt is cut once before each turn, and once more where the provider still refuses it. */
export const mayCompact = (frame: FrameState, cause: Compacted["cause"]): boolean =>
  frame.compacted?.step !== frame.step + 1 ||
  (cause === "refused" && frame.compacted.cause === "bound")

export const foldCompaction = (state: RunState, event: Compacted) => {
  const frame = frameOf(state, event.frame)
  if (event.usage !== undefined) state.tokens += tokensOf(state.used, event.usage)
  if (event.cost !== undefined) chargeTurn(state.used, event.cost)
  if (event.history !== undefined) state.past = event.history
  if (event.own !== undefined) {
    frame.transcript = cutTranscript(frame.transcript, frame.step, frame.cut, event.own)
    frame.cut = event.own
  }
  frame.compacted = event
  if (event.cause === "refused") frame.tokens_refused = event.tokens_before
}
