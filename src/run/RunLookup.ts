/**
 * Calls and frames of a run by their ids, of which an event about one that the run does not have does not fold; and its agent.
 */
import type { Address, AgentName, CallId, FrameId } from "../Ids.ts"
import type { CallState, FrameState, RunState } from "./RunState.ts"

/** The agent that a run begins with. */
export const agentOfRun = ({
  address,
  agent
}: {
  readonly address: Address
  readonly agent?: AgentName | undefined
}): AgentName => agent ?? address.agent

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
