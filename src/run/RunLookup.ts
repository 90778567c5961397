/**
 * Looks up the calls and frames of a run by id, and the agent that it begins with. An event that names a call or frame which the
 * run does not have makes the lookup throw, so that the journal does not fold.
 */
import type { Address, AgentName, CallId, FrameId } from "../value/Ids.ts"
import type { CallState, FrameState, RunState } from "./RunState.ts"

/** The agent that a run begins with. */
export const agentOfRun = ({
  address,
  agent
}: {
  readonly address: Address
  readonly agent?: AgentName | undefined
}): AgentName => agent ?? address.agent

/** Who has handed the frame over, once the turn that it is in is over. Undefined = nobody. */
export const handedBy = ({
  agent,
  handed_by,
  next
}: Pick<FrameState, "agent" | "handed_by" | "next">): ReadonlyArray<AgentName> | undefined =>
  next === undefined ? handed_by : [...new Set([...(handed_by ?? []), agent])]

// What most lookups look for is the only open call or frame, which is found without a map (bench row `step`).

export const findCall = (
  { calls, open }: Pick<RunState, "calls" | "open">,
  id: CallId
): CallState | undefined => {
  const first = open[0]
  return first !== undefined && first.id === id ? first : calls.get(id)
}

export const findFrame = (
  { frames, openFrames }: Pick<RunState, "frames" | "openFrames">,
  id: FrameId
): FrameState | undefined => {
  const first = openFrames[0]
  return first !== undefined && first.id === id ? first : frames.get(id)
}

/** Throws a TypeError where the run has no such call: its journal does not fold, and the run goes into quarantine. */
export const callOf = (state: Pick<RunState, "calls" | "open">, id: CallId): CallState => {
  const call = findCall(state, id)
  if (call === undefined) throw new TypeError("the run has no such call")
  return call
}

/** Throws a TypeError where the run has no such frame. */
export const frameOf = (
  state: Pick<RunState, "frames" | "openFrames">,
  id: FrameId
): FrameState => {
  const frame = findFrame(state, id)
  if (frame === undefined) throw new TypeError("the run has no such frame")
  return frame
}
