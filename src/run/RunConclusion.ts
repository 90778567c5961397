/**
 * What follows from a run's state alone: a frame has answered, a limit is reached, nothing of a stopping run is left open.
 */
import type { AgentName } from "../value/Ids.ts"
import { callOpening, rootFrame } from "../value/Ids.ts"
import type { Breach } from "./RunBreach.ts"
import { breachOf, breachText, lastStep, onBreach } from "./RunBreach.ts"
import { filtered_reason, incompleteNote } from "./IncompleteTurn.ts"
import { policyFailure, callSettled } from "./CallResult.ts"
import type {
  ApprovalRequested,
  EndStatus,
  FinishReason,
  RunEvent,
  RunStopping
} from "./RunEvent.ts"
import type { CallState, FrameState, RunState } from "./RunState.ts"
import { frameOf, openQuestions } from "./RunState.ts"
import { isSameFile } from "../conversation/Part.ts"
import { defined } from "../value/PlainObject.ts"

/** The event that ends an open call of a stopping run; undefined while the call must be waited for. */
const callClosed = (state: RunState, call: CallState, by: string): RunEvent | undefined => {
  const { phase } = call
  switch (phase._tag) {
    case "AwaitingApproval":
      return {
        _tag: "ApprovalClosed",
        call: call.id,
        approval: phase.request.approval,
        how: "cancelled",
        by
      }
    case "Proposed":
    case "Decided":
      return callSettled(call.id, { _tag: "Cancelled" })
    case "Unknown":
      return callSettled(call.id, { _tag: "Unknown" })
    case "Dispatched":
      return phase.epoch < state.epoch ? callSettled(call.id, { _tag: "Unknown" }) : undefined
    case "Delegated": {
      // The frame's own calls end before it.
      const frame = frameOf(state, phase.frame)
      return frame.waiting === 0 ? callSettled(call.id, { _tag: "Cancelled" }) : undefined
    }
    case "Settled":
      return undefined
  }
}

const limitStopping = (state: RunState, reached: Breach): RunEvent => ({
  _tag: "RunStopping",
  status: "failed",
  by: "runtime",
  reason: reached.reason,
  message: breachText(state, reached)
})

/** What follows from a limit that is reached when this frame wants a turn. */
const limitReached = (state: RunState, frame: FrameState): RunEvent | undefined => {
  const reached = breachOf(state)
  if (reached === undefined) return undefined
  const supervisor = frame.id === rootFrame
  switch (onBreach(state, reached.limit)) {
    case "stop":
      return limitStopping(state, reached)
    case "ask":
      return undefined
    case "answer":
      if (supervisor) {
        return state.steps < lastStep(state, true) ? undefined : limitStopping(state, reached)
      }
      // The last turn is the supervisor's: the specialist's call fails, and the run does not.
      return callSettled(
        callOpening(frame.id),
        policyFailure(
          reached.limit.toUpperCase(),
          `this run has reached ${reached.limit}: a specialist has no more turns in it`
        )
      )
  }
}

/** Closes a question about a limit or a text: no answer is needed any more. */
const questionClosed = ({ approval, call }: ApprovalRequested, by: string): RunEvent => ({
  _tag: "ApprovalClosed",
  call,
  approval,
  how: "cancelled",
  by
})

/** How the frame's answer ended. Where the answer is the value of a call it is whole, however the last turn ended. */
const finishOf = (frame: FrameState): FinishReason | undefined =>
  frame.calls.length > 0 ? undefined : frame.finish

/** What an answer has besides its text: the files that tools attached for the customer, then those that the model made. */
const answered = (
  { shared }: RunState,
  frame: FrameState
): Pick<FrameState, "files" | "sources"> => {
  if (shared === undefined) return frame
  const { files = [], sources } = frame
  const made = files.filter((file) => !shared.some((each) => isSameFile(each, file)))
  return { files: [...shared, ...made], sources }
}

const frameFinished = (state: RunState, frame: FrameState, text: string): RunEvent => {
  const { question } = state
  if (frame.id === rootFrame) {
    return question === undefined
      ? runEnded(
          "complete",
          "complete",
          text,
          finishOf(frame),
          answered(state, frame),
          speaker(state)
        )
      : // The supervisor's answer was in flight when the question was put.
        questionClosed(question, "runtime")
  }
  const answer = text + incompleteNote(finishOf(frame))
  return callSettled(callOpening(frame.id), { _tag: "Value", json: JSON.stringify(answer) })
}

/** How a stopped run's last turn ended. A provider that filters the prompt itself answers with an error, so there is no turn. */
const stoppedFinish = (
  { by, reason }: RunStopping,
  supervisor: FrameState | undefined
): FinishReason | undefined =>
  by === "runtime" && reason === filtered_reason ? "content_filter" : supervisor?.finish

/** Who speaks in the conversation now, where that is not the agent of its address. */
const speaker = ({ accepted, frames }: RunState): AgentName | undefined => {
  const root = frames.get(rootFrame)
  const agent = root?.next ?? root?.agent
  return agent === accepted.address.agent ? undefined : agent
}

const runEnded = (
  status: EndStatus,
  reason: string,
  text: string,
  finish: FinishReason | undefined,
  { files, sources }: Partial<Pick<FrameState, "files" | "sources">>,
  agent: AgentName | undefined
): RunEvent => ({
  _tag: "RunEnded",
  status,
  reason,
  text,
  ...defined({ agent, finish, sources, files })
})

/** One event that follows from the state alone, or none. Call it until it has none. */
export const conclude = (state: RunState): RunEvent | undefined => {
  if (state.ended !== undefined) return undefined
  if (state.stopping !== undefined) {
    const [question] = openQuestions(state)
    if (question !== undefined) return questionClosed(question, state.stopping.by)
    for (const call of state.open) {
      const event = callClosed(state, call, state.stopping.by)
      if (event !== undefined) return event
    }
    if (state.open.length > 0) return undefined
    const { reason, status, told } = state.stopping
    const finish = stoppedFinish(state.stopping, state.frames.get(rootFrame))
    return runEnded(status, reason, told ?? lastText(state), finish, {}, speaker(state))
  }
  for (const frame of state.openFrames) {
    if (frame.answer !== undefined) return frameFinished(state, frame, frame.answer)
    if (frame.waiting === 0) {
      const event = limitReached(state, frame)
      if (event !== undefined) return event
    }
  }
  return undefined
}

/** The supervisor's last text, which a stopped run ends with. */
const lastText = (state: RunState): string => {
  const last = frameOf(state, rootFrame).transcript.findLast(
    (entry) => entry.role === "assistant" && entry.text.trim() !== ""
  )
  return last?.role === "assistant" ? last.text : ""
}
