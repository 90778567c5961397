/**
 * The state of a run: the fold of its events, owned by one fold and changed in place, because building it anew at each
 * step makes a step cost more the longer the run is.
 */
import type { Decision } from "../approval/Approval.ts"
import type { FrameCut, HistoryCut } from "../conversation/Cut.ts"
import type { TranscriptEntry } from "../conversation/Transcript.ts"
import type { AgentName, ApprovalId, CallId, FrameId } from "../Ids.ts"
import { callId, frameOf, rootFrame } from "../Ids.ts"
import type { OnLoss } from "../tool/ToolSpec.ts"
import type {
  ApprovalRequested,
  CallSettled,
  Compacted,
  ModelTurned,
  Outcome,
  ProposedCall,
  RunAccepted,
  RunEnded,
  RunEvent,
  RunStopping
} from "./RunEvent.ts"
import { empty_text, isMistake, recount } from "./RunGuard.ts"
import type { RunUsed } from "./RunUsed.ts"
import { charge, extend, make as noneUsed, tokensOf } from "./RunUsed.ts"
import { answerOf, resultEntry, settledPhase } from "./CallResult.ts"
import { compacted } from "./RunCompaction.ts"

export type CallPhase =
  | { readonly _tag: "Proposed" }
  | { readonly _tag: "Delegated"; readonly frame: FrameId }
  | { readonly _tag: "Asking"; readonly request: ApprovalRequested }
  | {
      readonly _tag: "Decided"
      readonly approval: ApprovalId
      readonly digest: string
      /** Of the tool that the question was about. */
      readonly tool_digest: string | undefined
      readonly decision: Decision
      readonly by: string
    }
  | {
      readonly _tag: "Dispatched"
      readonly key: string
      readonly epoch: number
      readonly on_loss: OnLoss
    }
  | { readonly _tag: "Unknown"; readonly key: string }
  /** `copy`: a long result is the journal's; what is kept of it here is what a model is shown. */
  | {
      readonly _tag: "Settled"
      readonly outcome: Outcome
      readonly stop?: true
      readonly copy?: true
    }

export interface CallState {
  readonly id: CallId
  readonly frame: FrameId
  readonly step: number
  readonly index: number
  readonly proposed: ProposedCall
  /** What runs: the proposed arguments, or an operator's replacement. */
  arguments: unknown
  modified: { readonly by: string; readonly arguments: unknown } | undefined
  /** The person whose decision let it run; stamped by the runtime only (SM-21). */
  approved_by: string | undefined
  phase: CallPhase
}

export interface FrameState {
  readonly id: FrameId
  readonly agent: AgentName
  /** The last turn; 0 before the first. */
  step: number
  /** Calls of the last turn, in the model's order. */
  calls: ReadonlyArray<CallId>
  /** How many of them have no result yet. */
  waiting: number
  /** What its model is shown. Grows by appending; a compaction puts a new list in its place. */
  transcript: Array<TranscriptEntry>
  /** What the transcript leaves out. */
  cut: FrameCut | undefined
  /** The last compaction, and the turn before it that it made room for. */
  compacted: Compacted | undefined
  /** The last prompt that the provider found too long, in tokens; undefined = none. */
  tokens_refused: number | undefined
  /** The last turn asked for nothing: its text is the frame's answer. */
  answer: string | undefined
}

export type RunStatus =
  | "pending"
  | "processing"
  | "awaiting_approval"
  | "complete"
  | "failed"
  | "cancelled"

export interface RunState {
  accepted: RunAccepted | undefined
  length: number
  epoch: number
  /** Model turns over all frames. */
  steps: number
  questions: number
  dispatches: number
  tokens: number
  readonly used: RunUsed
  /** What the supervisor is shown of the conversation before the run, where this run has cut it. */
  past: HistoryCut | undefined
  /** The question about a limit that waits for a person: no frame has a turn until it is answered. */
  question: ApprovalRequested | undefined
  /** Questions that wait for a decision, and calls that wait for an operator: `awaiting_approval` while any does. */
  asking: number
  unknown: number
  /** What `work` and `conclude` look at; never the history. */
  readonly open: Set<CallId>
  readonly openFrames: Set<FrameId>
  /** Proposals that a person denied, by the digest without run and call. */
  readonly refused: Set<string>
  readonly frames: Map<FrameId, FrameState>
  readonly calls: Map<CallId, CallState>
  /** Every question that was put, to tell a late answer from an unknown one. */
  readonly asked: Map<ApprovalId, ApprovalRequested>
  stopping: RunStopping | undefined
  ended: RunEnded | undefined
}

export const make = (): RunState => ({
  accepted: undefined,
  length: 0,
  epoch: 0,
  steps: 0,
  questions: 0,
  dispatches: 0,
  tokens: 0,
  used: noneUsed(),
  question: undefined,
  past: undefined,
  asking: 0,
  unknown: 0,
  open: new Set(),
  openFrames: new Set(),
  refused: new Set(),
  frames: new Map(),
  calls: new Map(),
  asked: new Map(),
  stopping: undefined,
  ended: undefined
})

/** The run's status as tasks and lists show it (DESIGN 2). A run that waits only for an operator awaits one too. */
export const statusOf = (state: RunState): RunStatus =>
  state.ended !== undefined
    ? state.ended.status
    : state.asking + state.unknown > 0
      ? "awaiting_approval"
      : state.epoch === 0
        ? "pending"
        : "processing"

/** Is nothing wanted but an answer from a person? Then the run may leave the process. */
export const isParkable = (state: RunState): boolean => {
  if (state.ended !== undefined || state.asking + state.unknown === 0) return false
  if (state.question === undefined) {
    for (const id of state.openFrames) {
      const frame = state.frames.get(id)!
      if (frame.waiting === 0 && frame.answer === undefined) return false
    }
  }
  for (const id of state.open) {
    const tag = state.calls.get(id)!.phase._tag
    if (tag !== "Asking" && tag !== "Unknown" && tag !== "Delegated") return false
  }
  return true
}

const openFrame = (state: RunState, id: FrameId, agent: AgentName, text: string) => {
  state.frames.set(id, {
    id,
    agent,
    step: 0,
    calls: [],
    waiting: 0,
    transcript: [{ role: "user", text }],
    cut: undefined,
    compacted: undefined,
    tokens_refused: undefined,
    answer: undefined
  })
  state.openFrames.add(id)
}

const turned = (state: RunState, event: ModelTurned) => {
  const frame = state.frames.get(event.frame)!
  state.steps++
  if (event.usage !== undefined) state.tokens += tokensOf(state.used, event.usage)
  if (event.cost !== undefined) charge(state.used, event.cost)
  frame.step = event.step
  frame.waiting = event.calls.length
  if (event.empty === true) {
    // Providers refuse a turn with nothing in it, so the model reads only what it is told of it.
    state.used.mistakes++
    frame.calls = []
    frame.transcript.push({ role: "user", text: empty_text })
    return
  }
  frame.transcript.push(
    event.reasoning === undefined && event.origin === undefined
      ? { role: "assistant", text: event.text, calls: event.calls }
      : {
          role: "assistant",
          text: event.text,
          calls: event.calls,
          ...(event.reasoning === undefined ? undefined : { reasoning: event.reasoning }),
          ...(event.parts === undefined ? undefined : { parts: event.parts }),
          ...(event.origin === undefined ? undefined : { origin: event.origin })
        }
  )
  if (event.calls.length === 0) {
    frame.answer = event.text
    frame.calls = []
    return
  }
  frame.calls = event.calls.map((proposed, index) => {
    const id = callId(event.frame, event.step, index)
    state.open.add(id)
    state.calls.set(id, {
      id,
      frame: event.frame,
      step: event.step,
      index,
      proposed,
      arguments: proposed.arguments,
      modified: undefined,
      approved_by: undefined,
      phase: proposedPhase
    })
    return id
  })
}

const proposedPhase: CallPhase = { _tag: "Proposed" }

/** Leaves a phase: the counters of waiting people follow. */
const move = (state: RunState, call: CallState, phase: CallPhase) => {
  if (call.phase._tag === "Asking") state.asking--
  else if (call.phase._tag === "Unknown") state.unknown--
  if (phase._tag === "Asking") state.asking++
  else if (phase._tag === "Unknown") state.unknown++
  call.phase = phase
}

const settled = (state: RunState, call: CallState, { outcome, stop }: CallSettled) => {
  if (call.phase._tag === "Delegated") state.openFrames.delete(call.phase.frame)
  move(state, call, settledPhase(outcome, stop))
  state.open.delete(call.id)
  recount(state, call, outcome)
  const frame = state.frames.get(call.frame)!
  if (--frame.waiting > 0) return
  let mistaken = true
  // All results of a step enter the transcript together, in the model's order, whatever order they arrived in.
  for (const id of frame.calls) {
    const each = state.calls.get(id)!
    if (each.phase._tag !== "Settled") continue
    mistaken &&= isMistake(each.phase.outcome)
    if (each.phase.stop === true && each.phase.outcome._tag === "Value") {
      frame.answer ??= answerOf(each.phase.outcome.json)
    }
    frame.transcript.push(resultEntry(each, each.phase))
  }
  state.used.mistakes = mistaken ? state.used.mistakes + 1 : 0
}

/** The question about a limit is over; what is answered with no is a stop of its own. */
const unasked = (state: RunState) => {
  state.question = undefined
  state.asking--
}

/** Applies one event in place. Total over every event that a decider has emitted for this state. */
export const evolve = (state: RunState, event: RunEvent): void => {
  state.length++
  switch (event._tag) {
    case "RunAccepted":
      state.accepted = event
      return openFrame(state, rootFrame, event.address.agent, event.message)
    case "RunClaimed":
      state.epoch = event.epoch
      return
    case "ModelTurned":
      return turned(state, event)
    case "Compacted":
      return compacted(state, event)
    case "FrameOpened": {
      const call = state.calls.get(event.call)!
      move(state, call, { _tag: "Delegated", frame: event.frame })
      return openFrame(state, frameOf(event.call), event.agent, event.input)
    }
    case "ApprovalRequested": {
      state.asked.set(event.approval, event)
      if (event.limit !== undefined) {
        state.question = event
        state.asking++
        return
      }
      const call = state.calls.get(event.call)!
      state.questions++
      call.approved_by = undefined
      return move(state, call, { _tag: "Asking", request: event })
    }
    case "ApprovalDecided": {
      const { limit, proposal, tool_digest } = state.asked.get(event.approval)!
      if (limit !== undefined) {
        if (event.decision._tag === "Approve") extend(state.used, limit)
        return unasked(state)
      }
      const call = state.calls.get(event.call)!
      if (event.decision._tag === "Modify") {
        call.arguments = event.decision.arguments
        call.modified = { by: event.by, arguments: event.decision.arguments }
      }
      if (event.decision._tag === "Deny") state.refused.add(proposal)
      else if (event.decision._tag !== "RequestRevision") call.approved_by = event.by
      return move(state, call, {
        _tag: "Decided",
        approval: event.approval,
        digest: event.digest,
        tool_digest,
        decision: event.decision,
        by: event.by
      })
    }
    case "ApprovalClosed":
      if (state.question?.approval === event.approval) return unasked(state)
      return move(state, state.calls.get(event.call)!, proposedPhase)
    case "CallDispatched": {
      const call = state.calls.get(event.call)!
      if (call.phase._tag !== "Dispatched") state.dispatches++
      return move(state, call, {
        _tag: "Dispatched",
        key: event.key,
        epoch: event.epoch,
        on_loss: event.on_loss
      })
    }
    case "CallUnknown": {
      const call = state.calls.get(event.call)!
      return move(state, call, {
        _tag: "Unknown",
        key: call.phase._tag === "Dispatched" ? call.phase.key : ""
      })
    }
    case "CallReopened": {
      const call = state.calls.get(event.call)!
      call.approved_by = undefined
      return move(state, call, proposedPhase)
    }
    case "CallSettled":
      return settled(state, state.calls.get(event.call)!, event)
    case "LimitReached":
      state.used.timed_out = true
      return
    case "RunStopping":
      state.stopping = event
      return
    case "RunEnded":
      state.ended = event
      state.openFrames.clear()
      return
  }
}

/** The state after these events. */
export const fold = (events: Iterable<RunEvent>): RunState => {
  const state = make()
  for (const event of events) evolve(state, event)
  return state
}
