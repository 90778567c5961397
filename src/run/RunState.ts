/**
 * The state of a run: the fold of its events. It is changed in place, because a new state per step costs more the longer the run
 * is (bench row `history`), so each has one owner.
 */
import { Schema } from "effect"
import type { Decision } from "../approval/Approval.ts"
import type { FrameCut, HistoryCut } from "../conversation/Cut.ts"
import type { FilePart, Part } from "../conversation/Part.ts"
import { isFile } from "../conversation/Part.ts"
import type { TranscriptEntry } from "../conversation/Transcript.ts"
import type { AgentName, ApprovalId, CallId, FrameId } from "../value/Ids.ts"
import { frameOpenedBy, rootFrame } from "../value/Ids.ts"
import { appended } from "../value/ShortList.ts"
import type { OnLoss } from "../tool/ToolSpec.ts"
import type {
  ApprovalDecided,
  ApprovalRequested,
  CallDispatched,
  ClientRequested,
  Compacted,
  FinishReason,
  HandedOff,
  HostValues,
  MemoryRecalled,
  Outcome,
  ProposedCall,
  Question,
  Repeats,
  RunAccepted,
  RunEnded,
  RunEvent,
  RunStopping
} from "./RunEvent.ts"
import type { Source } from "./ProviderWork.ts"
import type { RunUsage } from "./RunUsage.ts"
import { heldUnitsOf } from "./HeldUnits.ts"
import { chargeTool, emptyUsage, extendLimit } from "./RunUsage.ts"
import { foldCompaction } from "./RunCompaction.ts"
import { moveTo, proposedPhase, foldResult, foldTurn } from "./StepFold.ts"
import { agentOfRun, callOf, frameOf } from "./RunLookup.ts"

export type CallPhase =
  | { readonly _tag: "Proposed" }
  | { readonly _tag: "Delegated"; readonly frame: FrameId }
  | { readonly _tag: "AwaitingApproval"; readonly request: Question }
  | {
      readonly _tag: "Decided"
      readonly approval: ApprovalId
      readonly digest: string
      /** Of the tool that the approval was requested for. */
      readonly tool_digest: string | undefined
      readonly decision: Decision
      readonly by: string
    }
  | {
      readonly _tag: "Dispatched"
      readonly key: string
      readonly epoch: number
      readonly on_loss: OnLoss
      readonly tool?: string
      readonly over_at?: number
    }
  | { readonly _tag: "Unknown" }
  /** `copy`: the outcome is the model's copy of a long result, which is whole in the journal only. */
  | {
      readonly _tag: "Settled"
      readonly outcome: Outcome
      readonly stop?: true
      readonly copy?: true
      readonly texts?: true
      readonly repeats?: Repeats
      readonly files?: ReadonlyArray<FilePart>
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
  /** The person whose decision or authorisation let it run; stamped by the runtime only. */
  approved_by: string | undefined
  /** What its host filled in for it, which is not asked again. Absent = nothing yet. */
  filled?: HostValues
  phase: CallPhase
}

export interface FrameState {
  readonly id: FrameId
  agent: AgentName
  /** The agent that goes on with it after this turn, to which a call of the turn has handed it over. */
  next: AgentName | undefined
  /**
   * The agents that handed it over, each once, and for a specialist's frame those that had handed over its supervisor's: no
   * capability is used that one of them lacks. Undefined = none did.
   */
  handed_by: ReadonlyArray<AgentName> | undefined
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
  /** The last compaction; its `step` is the turn that it made room for. */
  compacted: Compacted | undefined
  /** The last prompt that the provider found too long, in tokens; undefined = none. */
  tokens_refused: number | undefined
  /** The text of the last turn, if it had no calls. */
  answer: string | undefined
  /** Answers that did not fit the schema of answers. */
  unfits: number
  /** How the last turn ended, where it did not end well. */
  finish: FinishReason | undefined
  /** What the last turn refers to. */
  sources: ReadonlyArray<Source> | undefined
  /** Files of the last turn. */
  files: ReadonlyArray<FilePart> | undefined
}

export const RunStatus = Schema.Literals([
  "pending",
  "processing",
  "awaiting_approval",
  "complete",
  "failed",
  "cancelled"
])
export type RunStatus = typeof RunStatus.Type

/** The fold of a run's events so far; of none, before the run is accepted. */
export interface FoldState {
  accepted: RunAccepted | undefined
  length: number
  /** About what the state holds, in UTF-16 units (`HeldUnits.ts`). */
  units: number
  epoch: number
  /** Model turns over all frames. */
  steps: number
  /** How many approvals of calls the run has requested, answered or not; `questions_max` bounds it. Those about limits do not count. */
  questions: number
  dispatches: number
  /** How often the conversation has changed hands. */
  handoffs: number
  /** How often a frame went on with another agent. */
  switches: number
  tokens: number
  readonly used: RunUsage
  /** This run's cut of the conversation before it; undefined = none. */
  past: HistoryCut | undefined
  /** What the run was told of memory; undefined = nothing was asked. */
  recalled: MemoryRecalled | undefined
  /** Its message, a result or a turn has files. */
  hasFiles: boolean
  /** The open question about a limit of the run: no frame has a turn until a person answers it. Undefined = none is open. */
  question: ApprovalRequested | undefined
  /** How many questions wait for a decision. While any does, or a call is unknown, the run is `awaiting_approval`. */
  awaiting: number
  unknown: number
  /**
   * Calls without a result and frames without an end, oldest first: all that `wantedWork` and `conclude` look at.
   * Lists, because they are short, and V8 rebuilds a set that is emptied and filled at each step (bench row `step`).
   */
  open: Array<CallState>
  openFrames: Array<FrameState>
  /** Proposals that a person denied, by the digest without run and call; undefined = none yet. */
  refused: Set<string> | undefined
  readonly frames: Map<FrameId, FrameState>
  readonly calls: Map<CallId, CallState>
  /** All questions, oldest first, so that a late answer differs from one to an unknown question: see `questionOf`. */
  requested: Array<Question> | undefined
  stopping: RunStopping | undefined
  ended: RunEnded | undefined
}

/** The state of an accepted run: what is decided, concluded and wanted follows from it. */
export interface RunState extends FoldState {
  accepted: RunAccepted
}

/** Before the first event. */
export const emptyState = (): FoldState => ({
  accepted: undefined,
  length: 0,
  units: 0,
  epoch: 0,
  steps: 0,
  questions: 0,
  dispatches: 0,
  handoffs: 0,
  switches: 0,
  tokens: 0,
  used: emptyUsage(),
  question: undefined,
  past: undefined,
  recalled: undefined,
  hasFiles: false,
  awaiting: 0,
  unknown: 0,
  open: [],
  openFrames: [],
  refused: undefined,
  frames: new Map(),
  calls: new Map(),
  requested: undefined,
  stopping: undefined,
  ended: undefined
})

/** Has the run's acceptance been folded? */
export const isAccepted = (state: FoldState): state is RunState => state.accepted !== undefined

/** The run's status as tasks and lists show it. A run that waits only for an operator is `awaiting_approval` too. */
export const statusOf = (state: FoldState): RunStatus =>
  state.ended !== undefined
    ? state.ended.status
    : state.awaiting + state.unknown > 0
      ? "awaiting_approval"
      : state.epoch === 0
        ? "pending"
        : "processing"

/** The question with this id, answered or not. Searched from the last one, which is usually the one that is answered. */
export const questionOf = (
  { requested }: Pick<FoldState, "requested">,
  id: ApprovalId
): Question | undefined => requested?.findLast(({ approval }) => approval === id)

/** Does the run wait for nothing but answers of people? Then it may leave the process. */
export const isParkable = (state: FoldState): boolean => {
  if (state.ended !== undefined || state.awaiting + state.unknown === 0) return false
  if (state.question === undefined) {
    for (const frame of state.openFrames) {
      if (frame.waiting === 0 && frame.answer === undefined) return false
    }
  }
  for (const call of state.open) {
    const tag = call.phase._tag
    if (tag !== "AwaitingApproval" && tag !== "Unknown" && tag !== "Delegated") return false
  }
  return true
}

const openFrame = (
  state: FoldState,
  id: FrameId,
  agent: AgentName,
  text: string,
  parts?: ReadonlyArray<Part>
) => {
  const frame: FrameState = {
    id,
    agent,
    next: undefined,
    handed_by: undefined,
    step: 0,
    calls: [],
    waiting: 0,
    transcript: [parts === undefined ? { role: "user", text } : { role: "user", text, parts }],
    cut: undefined,
    compacted: undefined,
    tokens_refused: undefined,
    answer: undefined,
    unfits: 0,
    finish: undefined,
    sources: undefined,
    files: undefined
  }
  state.frames.set(id, frame)
  state.openFrames = appended(state.openFrames, frame)
  return frame
}

/** The question about a limit is answered or closed. A refusal stops the run by an event of its own. */
const limitAnswered = (state: RunState) => {
  state.question = undefined
  state.awaiting--
}

const approvalRequested = (state: RunState, event: ApprovalRequested) => {
  if (state.requested === undefined) state.requested = [event]
  else state.requested.push(event)
  if (event.limit !== undefined) {
    state.question = event
    state.awaiting++
    return
  }
  const call = callOf(state, event.call)
  state.questions++
  call.approved_by = undefined
  if (event.filled !== undefined) call.filled = event.filled
  moveTo(state, call, { _tag: "AwaitingApproval", request: event })
}

const clientRequested = (state: RunState, event: ClientRequested) => {
  if (state.requested === undefined) state.requested = [event]
  else state.requested.push(event)
  state.questions++
  const call = callOf(state, event.call)
  if (event.filled !== undefined) call.filled = event.filled
  moveTo(state, call, { _tag: "AwaitingApproval", request: event })
}

const approvalDecided = (state: RunState, event: ApprovalDecided) => {
  const { by, decision } = event
  const question = questionOf(state, event.approval)
  if (question === undefined) throw new TypeError("nobody asked for this decision")
  const { proposal, tool_digest } = question
  if (question._tag === "ClientRequested") throw new TypeError("nobody decides a client's call")
  const { limit } = question
  if (limit !== undefined) {
    if (decision._tag === "Approve") extendLimit(state.used, limit)
    return limitAnswered(state)
  }
  const call = callOf(state, event.call)
  if (decision._tag === "Modify") {
    call.arguments = decision.arguments
    call.modified = { by, arguments: decision.arguments }
  }
  if (decision._tag === "Deny") (state.refused ??= new Set()).add(proposal)
  else if (decision._tag !== "RequestRevision") call.approved_by = by
  moveTo(state, call, {
    _tag: "Decided",
    approval: event.approval,
    digest: event.digest,
    tool_digest,
    decision,
    by
  })
}

const dispatched = (state: RunState, event: CallDispatched) => {
  const call = callOf(state, event.call)
  if (call.phase._tag !== "Dispatched") state.dispatches++
  if (event.authorized !== undefined) call.approved_by = event.authorized.by
  if (event.filled !== undefined) call.filled = event.filled
  moveTo(state, call, {
    _tag: "Dispatched",
    key: event.key,
    epoch: event.epoch,
    on_loss: event.on_loss,
    ...(event.tool === undefined ? undefined : { tool: event.tool }),
    ...(event.over_at === undefined ? undefined : { over_at: event.over_at })
  })
}

const handedOff = (state: RunState, { call, to }: HandedOff) => {
  state.handoffs++
  frameOf(state, callOf(state, call).frame).next = to
}

const delegated = (
  state: RunState,
  { agent, call: id, frame, input }: Extract<RunEvent, { _tag: "FrameOpened" }>
) => {
  const call = callOf(state, id)
  moveTo(state, call, { _tag: "Delegated", frame })
  const { handed_by } = frameOf(state, call.frame)
  openFrame(state, frameOpenedBy(id), agent, input).handed_by = handed_by
}

const reopened = (state: RunState, id: CallId) => {
  const call = callOf(state, id)
  call.approved_by = undefined
  moveTo(state, call, proposedPhase)
}

const accept = (state: FoldState, event: RunEvent) => {
  if (event._tag !== "RunAccepted") throw new TypeError("a run begins with its acceptance")
  const { handed_by, message, parts } = event
  state.accepted = event
  if (parts !== undefined) state.hasFiles = parts.some(isFile)
  openFrame(state, rootFrame, agentOfRun(event), message, parts).handed_by = handed_by
}

const unknownPhase: CallPhase = { _tag: "Unknown" }

/**
 * Applies one event in place. Throws where it is about a call, a frame or a question that the run does not have, and where
 * the run is not accepted or is accepted twice: such a journal does not fold.
 * One switch whose cases call functions (bench row `step`).
 */
export const evolve = (state: FoldState, event: RunEvent): void => {
  state.length++
  state.units += heldUnitsOf(event)
  if (!isAccepted(state)) return accept(state, event)
  switch (event._tag) {
    case "RunAccepted":
      throw new TypeError("a run is accepted once")
    case "RunClaimed":
      state.epoch = event.epoch
      return
    case "ModelTurned":
      return foldTurn(state, event)
    case "Compacted":
      return foldCompaction(state, event)
    case "MemoryRecalled":
      state.recalled = event
      return
    case "FrameOpened":
      return delegated(state, event)
    case "HandedOff":
      return handedOff(state, event)
    case "ApprovalRequested":
      return approvalRequested(state, event)
    case "ClientRequested":
      return clientRequested(state, event)
    case "ApprovalDecided":
      return approvalDecided(state, event)
    case "ApprovalClosed":
      if (state.question?.approval === event.approval) return limitAnswered(state)
      return moveTo(state, callOf(state, event.call), proposedPhase)
    case "CallDispatched":
      return dispatched(state, event)
    case "CallUnknown":
      if (event.spent !== undefined) state.tokens += chargeTool(state.used, event.spent)
      return moveTo(state, callOf(state, event.call), unknownPhase)
    case "CallReopened":
      return reopened(state, event.call)
    case "CallSettled":
      if (event.spent !== undefined) state.tokens += chargeTool(state.used, event.spent)
      return foldResult(state, callOf(state, event.call), event)
    case "LimitReached":
      state.used.timed_out = true
      return
    case "RunStopping":
      state.stopping = event
      return
    case "RunEnded":
      state.ended = event
      state.openFrames.length = 0
      return
    default:
      event satisfies never
  }
}

/** The state after these events, of which there is at least one. Throws where they do not fold. */
export const fold = (events: Iterable<RunEvent>): RunState => {
  const state = emptyState()
  for (const event of events) evolve(state, event)
  if (!isAccepted(state)) throw new TypeError("there is no event to fold")
  return state
}
