/**
 * What happens next, as pure functions of the state: `decide` turns an input into events, `conclude` says what follows
 * from the state alone, `work` says what has to be running. An input that no longer fits yields no events.
 */
import type { ToolFailure } from "../error/ToolError.ts"
import {
  failureOf,
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError
} from "../error/ToolError.ts"
import type { AgentName, CallId, FrameId } from "../Ids.ts"
import { frameOf, rootFrame } from "../Ids.ts"
import type { OnLoss } from "../tool/ToolSpec.ts"
import type { RunLimits } from "./RunLimits.ts"
import type {
  ApprovalRequested,
  CallSettled,
  ModelTurned,
  Outcome,
  RunEvent,
  RunStopping
} from "./RunEvent.ts"
import type { CallPhase, CallState, FrameState, RunState } from "./RunState.ts"

/** A model's finished turn, before it has a place in the run. */
export type Turn = Pick<ModelTurned, "text" | "calls" | "finish" | "reasoning" | "usage" | "model">

export type RunInput =
  /** The run has a new owner: what the old one dispatched is lost or sent again. */
  | { readonly _tag: "Recovered" }
  | {
      readonly _tag: "TurnFinished"
      readonly frame: FrameId
      readonly step: number
      readonly turn: Turn
    }
  | {
      readonly _tag: "TurnFailed"
      readonly frame: FrameId
      readonly step: number
      readonly reason: string
      readonly message: string
      /** May the same turn work later? */
      readonly transient: boolean
    }
  | {
      readonly _tag: "Delegates"
      readonly call: CallId
      readonly agent: AgentName
      readonly input: string
    }
  | { readonly _tag: "Asks"; readonly request: Omit<ApprovalRequested, "_tag"> }
  | {
      readonly _tag: "Dispatches"
      readonly call: CallId
      readonly key: string
      readonly on_loss: OnLoss
    }
  | { readonly _tag: "Finished"; readonly settled: Omit<CallSettled, "_tag"> }
  /** A dispatched call's outcome cannot be known. */
  | { readonly _tag: "Lost"; readonly call: CallId }
  | { readonly _tag: "Stops"; readonly stopping: Omit<RunStopping, "_tag"> }

const none: ReadonlyArray<RunEvent> = []

const settle = (call: CallId, outcome: Outcome, by?: string): RunEvent =>
  by === undefined
    ? { _tag: "CallSettled", call, outcome }
    : { _tag: "CallSettled", call, outcome, by }

const policy = (reason: string, message: string): Outcome => ({
  _tag: "Failed",
  error: failureOf(new ToolPolicyError({ kind: "permission", reason, message }))
})

/** The call if it still waits for this kind of input. */
const waiting = (state: RunState, id: CallId): CallState | undefined => {
  if (state.ended !== undefined || state.stopping !== undefined) return undefined
  const call = state.calls.get(id)
  return call !== undefined && canStart(state, call.phase) ? call : undefined
}

/** A call that may start: never asked, answered, or lost by an older owner and declared safe to send again. */
const canStart = (state: RunState, phase: CallPhase): boolean =>
  phase._tag === "Proposed" ||
  phase._tag === "Decided" ||
  (phase._tag === "Dispatched" && phase.epoch < state.epoch && phase.on_loss === "again")

const recovered = (state: RunState): ReadonlyArray<RunEvent> => {
  const events: Array<RunEvent> = []
  for (const id of state.open) {
    const phase = state.calls.get(id)!.phase
    if (phase._tag === "Dispatched" && phase.epoch < state.epoch && phase.on_loss === "unknown") {
      events.push({ _tag: "CallUnknown", call: id })
    }
  }
  return events
}

const asks = (
  state: RunState,
  request: Omit<ApprovalRequested, "_tag">
): ReadonlyArray<RunEvent> => {
  const call = waiting(state, request.call)
  if (call === undefined) return none
  if (state.refused.has(request.proposal)) {
    return [
      settle(
        request.call,
        policy("APPROVAL_DENIED", "a person denied this same call before; it is not asked again")
      )
    ]
  }
  if (state.questions >= state.accepted!.limits.questions_max) {
    return [settle(request.call, policy("QUESTIONS_MAX", "this run may ask no more questions"))]
  }
  return [{ _tag: "ApprovalRequested", ...request }]
}

const delegates = (
  state: RunState,
  input: Extract<RunInput, { _tag: "Delegates" }>
): ReadonlyArray<RunEvent> => {
  const call = waiting(state, input.call)
  if (call === undefined) return none
  const frame = state.frames.get(call.frame)!
  let delegated = 0
  for (const id of frame.calls) if (state.frames.has(frameOf(id))) delegated++
  const most = state.accepted!.limits.delegations_per_turn_max
  if (delegated >= most) {
    return [
      settle(input.call, policy("DELEGATIONS_MAX", `at most ${most} delegations in one turn`))
    ]
  }
  return [
    {
      _tag: "FrameOpened",
      frame: frameOf(input.call),
      call: input.call,
      agent: input.agent,
      input: input.input
    }
  ]
}

const turnFailed = (
  state: RunState,
  input: Extract<RunInput, { _tag: "TurnFailed" }>
): ReadonlyArray<RunEvent> => {
  if (!wantsTurn(state, input.frame, input.step)) return none
  if (input.frame === rootFrame) {
    return [{ _tag: "RunStopping", status: "failed", by: "runtime", reason: input.reason }]
  }
  const error: ToolFailure = failureOf(
    input.transient
      ? new ToolTransientError({ kind: "external", reason: input.reason, message: input.message })
      : new ToolTerminalError({ kind: "external", reason: input.reason, message: input.message })
  )
  return [settle(input.frame as string as CallId, { _tag: "Failed", error })]
}

/** Does the frame wait for exactly this turn? */
const wantsTurn = (state: RunState, id: FrameId, step: number): boolean => {
  if (state.ended !== undefined || state.stopping !== undefined || !state.openFrames.has(id))
    return false
  const frame = state.frames.get(id)!
  return frame.waiting === 0 && frame.answer === undefined && frame.step + 1 === step
}

/** The events that an input causes, none if it no longer fits. */
export const decide = (state: RunState, input: RunInput): ReadonlyArray<RunEvent> => {
  if (state.ended !== undefined) return none
  switch (input._tag) {
    case "Recovered":
      return recovered(state)
    case "TurnFinished":
      return wantsTurn(state, input.frame, input.step)
        ? [
            {
              _tag: "ModelTurned",
              frame: input.frame,
              step: input.step,
              ...fitting(state, input.turn)
            }
          ]
        : none
    case "TurnFailed":
      return turnFailed(state, input)
    case "Delegates":
      return delegates(state, input)
    case "Asks":
      return asks(state, input.request)
    case "Dispatches": {
      const call = waiting(state, input.call)
      if (call === undefined) return none
      if (
        call.phase._tag !== "Dispatched" &&
        state.dispatches >= state.accepted!.limits.writes_max
      ) {
        return [settle(input.call, policy("WRITES_MAX", "this run may write no more"))]
      }
      return [
        {
          _tag: "CallDispatched",
          call: input.call,
          key: input.key,
          epoch: state.epoch,
          on_loss: input.on_loss
        }
      ]
    }
    case "Finished": {
      const phase = state.calls.get(input.settled.call)?.phase
      return phase === undefined ||
        phase._tag === "Settled" ||
        phase._tag === "Unknown" ||
        phase._tag === "Delegated" ||
        phase._tag === "Asking"
        ? none
        : [{ _tag: "CallSettled", ...input.settled }]
    }
    case "Lost":
      return state.calls.get(input.call)?.phase._tag === "Dispatched"
        ? [{ _tag: "CallUnknown", call: input.call }]
        : none
    case "Stops":
      return state.stopping === undefined ? [{ _tag: "RunStopping", ...input.stopping }] : none
  }
}

/** A turn beyond `steps_max` answers: it was given no tools, so a call in it is dropped. */
const fitting = (state: RunState, turn: Turn): Turn =>
  state.steps >= state.accepted!.limits.steps_max ? { ...turn, calls: [] } : turn

/** How a call that has no result yet ends when its run stops; undefined while it must be waited for. */
const closing = (state: RunState, call: CallState): RunEvent | undefined => {
  const { phase } = call
  switch (phase._tag) {
    case "Asking":
      return {
        _tag: "ApprovalClosed",
        call: call.id,
        approval: phase.request.approval,
        how: "cancelled",
        by: state.stopping!.by
      }
    case "Proposed":
    case "Decided":
      return settle(call.id, { _tag: "Cancelled" })
    case "Unknown":
      return settle(call.id, { _tag: "Unknown" })
    case "Dispatched":
      return phase.epoch < state.epoch ? settle(call.id, { _tag: "Unknown" }) : undefined
    case "Delegated": {
      // The frame's own calls are drained first: theirs are closed before it.
      const frame = state.frames.get(phase.frame)!
      return frame.waiting === 0 ? settle(call.id, { _tag: "Cancelled" }) : undefined
    }
    case "Settled":
      return undefined
  }
}

const stop = (status: RunStopping["status"], reason: string): RunEvent => ({
  _tag: "RunStopping",
  status,
  by: "runtime",
  reason
})

/** The last turn a run may have: with `answer` one more than `steps_max`, without tools. */
const lastStep = (limits: RunLimits): number =>
  limits.on_breach === "answer" ? limits.steps_max + 1 : limits.steps_max

/** The bound that a frame which waits for a turn has reached. */
const limit = (state: RunState): RunEvent | undefined => {
  const limits = state.accepted!.limits
  if (state.steps >= lastStep(limits)) return stop("failed", "recursion_limit")
  if (state.calls.size >= limits.calls_max) return stop("failed", "calls_max")
  if (limits.tokens_max > 0 && state.tokens >= limits.tokens_max)
    return stop("failed", "tokens_max")
  return undefined
}

const finished = (frame: FrameState): RunEvent =>
  frame.id === rootFrame
    ? { _tag: "RunEnded", status: "complete", reason: "complete", text: frame.answer! }
    : settle(frame.id as string as CallId, { _tag: "Value", json: JSON.stringify(frame.answer) })

/** One event that follows from the state alone, or none. Call it until it has none. */
export const conclude = (state: RunState): RunEvent | undefined => {
  if (state.ended !== undefined || state.accepted === undefined) return undefined
  if (state.stopping !== undefined) {
    for (const id of state.open) {
      const event = closing(state, state.calls.get(id)!)
      if (event !== undefined) return event
    }
    if (state.open.size > 0) return undefined
    const { reason, status } = state.stopping
    return { _tag: "RunEnded", status, reason, text: lastText(state) }
  }
  for (const id of state.openFrames) {
    const frame = state.frames.get(id)!
    if (frame.answer !== undefined) return finished(frame)
    if (frame.waiting === 0) {
      const breach = limit(state)
      if (breach !== undefined) return breach
    }
  }
  return undefined
}

/** What the supervisor said last, so that a stopped run still shows it. */
const lastText = (state: RunState): string => {
  const transcript = state.frames.get(rootFrame)?.transcript ?? []
  for (let i = transcript.length - 1; i >= 0; i--) {
    const entry = transcript[i]!
    if (entry.role === "assistant" && entry.text !== "") return entry.text
  }
  return ""
}

/** A piece of work; `key` names it, so that what runs can be compared with what is wanted. */
export type Work =
  | {
      readonly _tag: "AskModel"
      readonly key: string
      readonly frame: FrameId
      readonly step: number
      /** False in the one turn beyond the limit. */
      readonly tools: boolean
    }
  | {
      readonly _tag: "RunCall"
      readonly key: string
      readonly call: CallId
      /** A call that waits for a person keeps the fiber it has, and starts none. */
      readonly start: boolean
    }

/** Everything that should be running now. Looks at open frames and calls only. */
export const work = (state: RunState): ReadonlyArray<Work> => {
  if (state.ended !== undefined) return []
  const wanted: Array<Work> = []
  if (state.stopping === undefined) {
    // Turns are reserved before they begin: two frames never share the last one.
    let turns = lastStep(state.accepted!.limits) - state.steps
    for (const id of state.openFrames) {
      const frame = state.frames.get(id)!
      if (frame.waiting > 0 || frame.answer !== undefined || turns-- <= 0) continue
      const step = frame.step + 1
      wanted.push({
        _tag: "AskModel",
        key: `${id}/${step}`,
        frame: id,
        step,
        tools: state.steps < state.accepted!.limits.steps_max
      })
    }
  }
  for (const id of state.open) {
    const { phase } = state.calls.get(id)!
    switch (phase._tag) {
      case "Proposed":
      case "Decided":
      case "Asking":
        if (state.stopping === undefined) {
          wanted.push({ _tag: "RunCall", key: id, call: id, start: phase._tag !== "Asking" })
        }
        break
      case "Dispatched":
        // Of this epoch: its fiber runs. Of an older one: sent again with the same key, if that was declared.
        wanted.push({
          _tag: "RunCall",
          key: id,
          call: id,
          start: state.stopping === undefined && canStart(state, phase)
        })
        break
      default:
        break
    }
  }
  return wanted
}
