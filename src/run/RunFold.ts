/** The fold of a run's events: applies them to its state, in place. */
import type { Part } from "../conversation/Part.ts"
import { isFile } from "../conversation/Part.ts"
import type { AgentName, CallId, FrameId } from "../value/Ids.ts"
import { frameOpenedBy, rootFrame } from "../value/Ids.ts"
import { appended } from "../value/ShortList.ts"
import { foldClosed, foldDecision, foldGuarded, foldQuestion } from "./Guarding.ts"
import type { Imported } from "./Imported.ts"
import { heldUnitsOf } from "./HeldUnits.ts"
import { foldCompaction, foldResult, foldTurn, moveTo, proposedPhase } from "./StepFold.ts"
import type { ApprovalDecided, CallDispatched, HandedOff, Question, RunEvent } from "./RunEvent.ts"
import {
  agentOfRun,
  callOf,
  frameOf,
  emptyState,
  isAccepted,
  questionOf,
  chargeTool,
  extendLimit
} from "./RunState.ts"
import type { CallPhase, FoldState, FrameState, RunState } from "./RunState.ts"

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
    judged: undefined,
    held: undefined,
    refused: undefined,
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

const asked = (state: RunState, event: Question) => {
  state.requested = appended(state.requested ?? [], event)
  if (event._tag === "ApprovalRequested" && event.guarded !== undefined) {
    return foldQuestion(state, event, event.guarded)
  }
  if (event._tag === "ApprovalRequested" && event.limit !== undefined) {
    state.question = event
    state.awaiting++
    return
  }
  const call = callOf(state, event.call)
  state.questions++
  if (event._tag === "ApprovalRequested") call.approved_by = undefined
  if (event.filled !== undefined) call.filled = event.filled
  moveTo(state, call, { _tag: "AwaitingApproval", request: event })
}

const approvalDecided = (state: RunState, event: ApprovalDecided) => {
  const { by, decision } = event
  const question = questionOf(state, event.approval)
  if (question === undefined) throw new TypeError("nobody asked for this decision")
  const { proposal, tool_digest } = question
  if (question._tag === "ClientRequested") throw new TypeError("nobody decides a client's call")
  const { guarded, limit } = question
  if (guarded !== undefined) return foldDecision(state, guarded, decision)
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

/**
 * The transcript of an imported exchange has no empty texts, which providers refuse. Its run ends without a text of its own: the
 * answer was written into the conversation with the message.
 */
const foldImported = (frame: FrameState, message: string, { answer }: Imported) => {
  if (message === "") frame.transcript.pop()
  if (answer !== "") frame.transcript.push({ role: "assistant", text: answer, calls: [] })
  frame.answer = ""
}

const accept = (state: FoldState, event: RunEvent) => {
  if (event._tag !== "RunAccepted") throw new TypeError("a run begins with its acceptance")
  const { handed_by, imported, message, parts } = event
  state.accepted = event
  if (parts !== undefined) state.hasFiles = parts.some(isFile)
  const frame = openFrame(state, rootFrame, agentOfRun(event), message, parts)
  frame.handed_by = handed_by
  if (imported !== undefined) foldImported(frame, message, imported)
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
    case "Guarded":
      return foldGuarded(state, event)
    case "RunBeside":
      state.beside = event
      return
    case "FrameOpened":
      return delegated(state, event)
    case "HandedOff":
      return handedOff(state, event)
    case "ApprovalRequested":
    case "ClientRequested":
      return asked(state, event)
    case "ApprovalDecided":
      return approvalDecided(state, event)
    case "ApprovalClosed":
      if (state.question?.approval === event.approval) return limitAnswered(state)
      if (foldClosed(state, event.approval)) return
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
