/**
 * What a model's turn causes, finished or failed: which of its calls may run, and whether its frame goes on.
 */
import type { ToolFailure } from "../error/ToolError.ts"
import { failureOf, ToolTerminalError, ToolTransientError } from "../error/ToolError.ts"
import type { FrameId } from "../value/Ids.ts"
import { callId, callOpening, rootFrame } from "../value/Ids.ts"
import { policyFailure, callSettled } from "./CallResult.ts"
import { repairs_max, unfit_reason } from "./AnswerSchema.ts"
import type { Guarded } from "./GuardVerdict.ts"
import { guard_refused, isRefusal } from "./GuardVerdict.ts"
import { isJudged, refusalText, toldOf } from "./Guarding.ts"
import { isCompleteFinish, unusableTurnOf, withheldResult } from "./IncompleteTurn.ts"
import { breachOf, callsMax, callsUsed, isAnswering, lastStep } from "./RunBreach.ts"
import type { ApprovalRequested, ModelTurned, Outcome, ProposedCall, RunEvent } from "./RunEvent.ts"
import { isEmptyTurn } from "./RunGuard.ts"
import { findFrame, frameOf, questionOf } from "./RunState.ts"
import type { RunState } from "./RunState.ts"

const none: ReadonlyArray<RunEvent> = []
const none_guarded: ReadonlyArray<Guarded> = []

/** The turn, and results of those of its calls that never run: not offered, beyond `calls_max`, or of a turn that was cut. */
export const turnFinished = (
  state: RunState,
  given: ModelTurned,
  guarded: ReadonlyArray<Guarded> = none_guarded
): ReadonlyArray<RunEvent> => {
  const { frame, step } = given
  if (!wantsTurn(state, frame, step)) return none
  const turned = normalisedTurn(state, given)
  const left = Math.max(0, callsMax(state) - callsUsed(state))
  const events: Array<RunEvent> = guarded === none_guarded ? [turned] : [...guarded, turned]
  let index = 0
  for (const proposal of turned.calls) {
    const refused = refusalOf(turned, proposal, index < left)
    if (refused !== undefined) events.push(callSettled(callId(frame, step, index), refused))
    index++
  }
  const refusal = frameOf(state, frame).refused ?? guarded.find(isRefusal)
  if (refusal !== undefined) {
    events.push(refusedFrame(refusal))
    return events
  }
  const end =
    undeclaredEnd(turned) ??
    unusableTurnOf(turned) ??
    unansweredEnd(state, turned) ??
    unfitEnd(state, turned)
  if (end !== undefined) events.push(frameEnd(frame, end, false))
  return events
}

/** The result of a call that never runs; undefined for one that may. `isWithinCallsMax`: `calls_max` leaves room for it. */
const refusalOf = (
  turned: ModelTurned,
  proposal: ProposedCall,
  isWithinCallsMax: boolean
): Outcome | undefined => {
  if (turned.undeclared !== undefined) {
    return policyFailure("UNDECLARED_PROVIDER_TOOL", undeclaredText(turned.undeclared))
  }
  if (turned.given?.without?.includes(proposal.name) === true) {
    return policyFailure("NOT_OFFERED", notOfferedText(proposal.name))
  }
  return isWithinCallsMax
    ? withheldResult(turned, proposal)
    : policyFailure("CALLS_MAX", "this run may make no more calls")
}

const notOfferedText = (name: string): string =>
  `the tool ${JSON.stringify(name)} is not for this run: do without it`

const undeclaredText = (name: string): string =>
  `the model's provider ran its tool ${JSON.stringify(name)}, which this turn of the agent was not allowed`

/** Why a frame ends without an answer. `message` is for operators. */
interface FrameEnd {
  readonly reason: string
  readonly message: string
  readonly retry_after_ms?: number
}

/** Why the frame ends because the provider ran a tool that the turn was not offered; undefined = it ran none. */
const undeclaredEnd = ({ undeclared }: ModelTurned): FrameEnd | undefined =>
  undeclared === undefined
    ? undefined
    : { reason: "undeclared_provider_tool", message: undeclaredText(undeclared) }

/** Why the run ends because its last turn, which had to answer, has no text; undefined = it does not. */
const unansweredEnd = (state: RunState, { frame, text }: ModelTurned): FrameEnd | undefined => {
  if (frame !== rootFrame || text.trim() !== "" || !isAnswering(state)) return undefined
  const breach = breachOf(state)
  return (
    breach && {
      reason: breach.reason,
      message: "the last turn was to answer without tools, and said nothing"
    }
  )
}

/** Why the frame ends with an answer that does not fit, because it was asked for again before or cannot be; undefined = it goes on. */
const unfitEnd = (state: RunState, { finish, frame, unfit }: ModelTurned): FrameEnd | undefined => {
  if (unfit === undefined) return undefined
  const { unfits } = frameOf(state, frame)
  const isLast = frame === rootFrame && isAnswering(state)
  return unfits < repairs_max && isCompleteFinish(finish) && !isLast
    ? undefined
    : { reason: unfit_reason, message: `the answer does not fit its schema: ${unfit}` }
}

/** Ends a frame that cannot go on: the supervisor's stops the run, a specialist's fails its call. */
const frameEnd = (
  frame: FrameId,
  { message, reason, retry_after_ms }: FrameEnd,
  transient: boolean
): RunEvent => {
  const later = retry_after_ms === undefined ? undefined : { retry_after_ms }
  if (frame === rootFrame) {
    return { _tag: "RunStopping", status: "failed", by: "runtime", reason, message, ...later }
  }
  const error: ToolFailure = failureOf(
    transient
      ? new ToolTransientError({ kind: "external", reason, message, ...later })
      : new ToolTerminalError({ kind: "external", reason, message })
  )
  return callSettled(callOpening(frame), { _tag: "Failed", error })
}

/** Ends the frame whose message or turn is refused: the supervisor's with what its sender is told. */
export const refusedFrame = (refusal: Guarded): RunEvent =>
  refusal.frame === rootFrame
    ? {
        _tag: "RunStopping",
        status: "failed",
        by: "runtime",
        reason: guard_refused,
        message: refusalText(refusal),
        told: toldOf(refusal)
      }
    : callSettled(callOpening(refusal.frame), policyFailure("GUARD_REFUSED", refusalText(refusal)))

/** What guards say of a frame's message, or of results that its next turn is shown. */
export const textsGuarded = (
  state: RunState,
  {
    frame,
    question,
    step,
    verdicts
  }: {
    readonly frame: FrameId
    readonly step: number
    readonly verdicts: ReadonlyArray<Guarded>
    readonly question?: Omit<ApprovalRequested, "_tag">
  }
): ReadonlyArray<RunEvent> => {
  if (!wantsTurn(state, frame, step)) return none
  const of = frameOf(state, frame)
  const events: Array<RunEvent> = []
  for (const verdict of verdicts) {
    if (isJudged(of, verdict, verdict.guard)) continue
    events.push(verdict)
    if (verdict.on === "message" && isRefusal(verdict)) return [...events, refusedFrame(verdict)]
  }
  // After a lost acknowledgement it is decided again, perhaps after an answer: a question is put once.
  if (question === undefined || questionOf(state, question.approval) !== undefined) return events
  // A side run asks nobody.
  if (state.beside === undefined && state.questions < state.accepted.limits.questions_max) {
    return [...events, { _tag: "ApprovalRequested", ...question }]
  }
  const asks = verdicts.find(({ verdict }) => verdict === "ask")
  const reason = "A person would have to be asked, and this run may ask no more questions."
  return asks === undefined ? events : [...events, refusedFrame({ ...asks, reason })]
}

export const turnFailed = (
  state: RunState,
  input: FrameEnd & {
    readonly frame: FrameId
    readonly step: number
    readonly transient: boolean
    readonly text?: string
  }
): ReadonlyArray<RunEvent> => {
  const { frame, step, text = "", transient } = input
  if (!wantsTurn(state, frame, step)) return none
  const end = frameEnd(frame, input, transient)
  if (text.trim() === "") return [end]
  const broken = {
    frame,
    step,
    text,
    calls: [],
    finish: "other",
    finish_raw: "unfinished"
  } as const
  return [{ _tag: "ModelTurned", ...broken }, end]
}

/** Does the frame wait for exactly this turn, and does `steps_max` leave one? */
export const wantsTurn = (state: RunState, id: FrameId, step: number): boolean => {
  if (state.ended !== undefined || state.stopping !== undefined) return false
  const frame = findFrame(state, id)
  return (
    frame !== undefined &&
    state.openFrames.includes(frame) &&
    frame.waiting === 0 &&
    frame.answer === undefined &&
    frame.step + 1 === step &&
    state.steps < lastStep(state, id === rootFrame)
  )
}

/** A last turn had no tools, so its calls are dropped. Any other turn without a text and a call is marked as empty. */
const normalisedTurn = (state: RunState, turn: ModelTurned): ModelTurned => {
  if (turn.frame === rootFrame && isAnswering(state)) {
    return turn.calls.length === 0 ? turn : { ...turn, calls: [] }
  }
  return isEmptyTurn(turn) ? { ...turn, empty: true } : turn
}
