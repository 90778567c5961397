/**
 * Calls and frames of a run by their ids. An event about one that the run does not have does not fold.
 */
import type { CallId, FrameId } from "../Ids.ts"
import type { CallState, FrameState, RunState } from "./RunState.ts"

/** Throws where the run has no such call: then an event is at fault, and its run is put in quarantine. */
export const callOf = (state: Pick<RunState, "calls">, id: CallId): CallState => {
  const call = state.calls.get(id)
  if (call === undefined) throw new TypeError("the run has no such call")
  return call
}

/** The same for a frame. */
export const frameOf = (state: Pick<RunState, "frames">, id: FrameId): FrameState => {
  const frame = state.frames.get(id)
  if (frame === undefined) throw new TypeError("the run has no such frame")
  return frame
}
