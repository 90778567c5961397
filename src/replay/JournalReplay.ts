/**
 * Replays a journal through the decider. What came from outside (a turn, a result, a decision, a claim) is taken from the journal
 * as an input. The decider and the fold have to produce every other event again. A replay without a divergence has made the same
 * journal, event for event. It is pure: it calls no model and no tool, and asks no person.
 */
import type { Decision } from "../approval/Approval.ts"
import { isSameJson } from "../value/Canonical.ts"
import type { ApprovalId, RunId } from "../value/Ids.ts"
import { Principal } from "../principal/Principal.ts"
import type { Who } from "../principal/Principal.ts"
import { decideApproval, expireApproval, settleCall } from "../run/RunCommand.ts"
import { conclude } from "../run/RunConclusion.ts"
import type { RunInput } from "../run/RunDecider.ts"
import { decide } from "../run/RunDecider.ts"
import type { CallSettled, JournalEntry, RunEvent } from "../run/RunEvent.ts"
import type { FoldState, RunState } from "../run/RunState.ts"
import { isAccepted, emptyState, openQuestions, questionOf, frameOf } from "../run/RunState.ts"
import { evolve } from "../run/RunFold.ts"
import type { Divergence } from "./Divergence.ts"
import { positionOf } from "./Divergence.ts"
import { defined } from "../value/PlainObject.ts"

export interface JournalReplay {
  /** The state after all events that were reproduced. */
  readonly state: FoldState
  /** How many recorded events were reproduced. */
  readonly same: number
  readonly divergence: Divergence | undefined
}

/** Called with the state before each recorded event that was reproduced. It must not change the state. */
export type Look = (state: FoldState, entry: JournalEntry) => void

const none: ReadonlyArray<RunEvent> = []

/**
 * The principal that decided, as one that may. The journal records the principal but not its roles, which were checked at the
 * decision.
 */
const approverOf = (state: RunState, event: Extract<RunEvent, { _tag: "ApprovalDecided" }>) =>
  new Principal({ id: event.by, tenant: state.accepted.tenant, roles: ["admin"] })

const decisionEvents = (
  state: RunState,
  event: Extract<RunEvent, { _tag: "ApprovalDecided" }>
): ReadonlyArray<RunEvent> => {
  // If an extension was refused, the stop that follows is concluded like any other.
  const question = questionOf(state, event.approval)
  if (question?._tag === "ApprovalRequested" && question.limit !== undefined) {
    return state.question?.approval === event.approval ? [event] : none
  }
  // So is what follows from a decision about a text.
  if (question?._tag === "ApprovalRequested" && question.guarded !== undefined) {
    return openQuestions(state).includes(question) ? [event] : none
  }
  const { approval, call, decision, digest } = event
  const verdict = { approval, call, decision, digest, by: approverOf(state, event) }
  const { events } = decideApproval(state, verdict, 0)
  const { via } = event
  // The journal does not record whether it might act for the principal, which was checked too.
  return events.map((each) =>
    via !== undefined && (each._tag === "ApprovalDecided" || each._tag === "CallSettled")
      ? { ...each, via }
      : each
  )
}

/** The events that close a question. If a client answered, its result is a separate event, which follows. */
const closedEvents = (
  state: RunState,
  event: Extract<RunEvent, { _tag: "ApprovalClosed" }>,
  at: number
): ReadonlyArray<RunEvent> => {
  const { approval, call, how } = event
  if (how === "expired") return expireApproval(state, call, approval, at).events
  const phase = state.calls.get(call)?.phase
  return how === "answered" &&
    phase?._tag === "AwaitingApproval" &&
    phase.request._tag === "ClientRequested" &&
    phase.request.approval === approval
    ? [event]
    : none
}

const recordedWho = (by: string, { via }: { readonly via?: string }): Who => ({
  by,
  ...defined({ via })
})

const settlementEvents = (
  state: RunState,
  run: RunId,
  event: CallSettled,
  at: number
): ReadonlyArray<RunEvent> => {
  const { outcome } = event
  const phase = state.calls.get(event.call)?.phase
  if ((phase?._tag === "Unknown" || phase?._tag === "Dispatched") && event.by !== undefined) {
    const settlement =
      outcome._tag === "Value"
        ? ({ _tag: "Succeeded", json: outcome.json } as const)
        : outcome._tag === "Failed"
          ? ({ _tag: "Failed", message: outcome.error.message } as const)
          : undefined
    if (settlement !== undefined) {
      return settleCall(state, run, event.call, settlement, recordedWho(event.by, event), at).events
    }
  }
  if (phase?._tag === "Delegated" && outcome._tag === "Failed") {
    const { error } = outcome
    return decide(state, {
      _tag: "TurnFailed",
      frame: phase.frame,
      step: frameOf(state, phase.frame).step + 1,
      reason: error.reason ?? "",
      message: error.message,
      transient: error.class === "ToolTransientError",
      ...defined({ retry_after_ms: error.retry_after_ms })
    })
  }
  // `reconciled` is set because the tool may have reconciled the call; its answer is in the recording.
  return decide(state, { _tag: "Finished", settled: event, reconciled: true })
}

const dispatchInput = (
  state: RunState,
  event: Extract<RunEvent, { _tag: "CallDispatched" }>
): RunInput => {
  const phase = state.calls.get(event.call)?.phase
  const { _tag, epoch: _epoch, ...dispatch } = event
  return {
    _tag: "Dispatches",
    ...dispatch,
    ...(phase?._tag === "Dispatched" && phase.on_loss === "ask" ? { reconciled: true } : undefined)
  }
}

/** The input from which a recorded event was decided, if the event contains all of it; otherwise undefined. */
const inputOf = (state: RunState, event: RunEvent): RunInput | undefined => {
  switch (event._tag) {
    case "ModelTurned":
      return { _tag: "TurnFinished", turned: event }
    case "Guarded":
      return { _tag: "Guards", frame: event.frame, step: event.step, verdicts: [event] }
    case "Compacted": {
      const { _tag, ...compaction } = event
      return { _tag: "Compacts", compaction }
    }
    case "MemoryRecalled":
      return { _tag: "Recalls", recalled: event }
    case "RunBeside":
      return { _tag: "Answers", beside: event }
    case "FrameOpened":
      return { _tag: "Delegates", call: event.call, agent: event.agent, input: event.input }
    case "HandedOff": {
      const { _tag, ...handoff } = event
      return { _tag: "HandsOff", ...handoff }
    }
    case "ApprovalRequested": {
      const { _tag, ...request } = event
      if (request.guarded !== undefined) {
        const { frame, step } = request.guarded
        return { _tag: "Guards", frame, step, verdicts: [], question: request }
      }
      return {
        _tag: request.limit === undefined ? "RequestsApproval" : "RequestsLimitApproval",
        request
      }
    }
    case "ClientRequested": {
      const { _tag, ...request } = event
      return { _tag: "RequestsClient", request }
    }
    case "CallDispatched":
      return dispatchInput(state, event)
    case "CallUnknown":
      return { _tag: "Lost", call: event.call, ...defined({ spent: event.spent }) }
    case "LimitReached":
      return { _tag: "TimeIsUp" }
    case "RunStopping": {
      const { _tag, ...stopping } = event
      return { _tag: "Stops", stopping }
    }
    default:
      return undefined
  }
}

/** The events that the decider makes from the input that led to the recorded event. */
const decidedAgain = (
  state: RunState,
  run: RunId,
  { at, event }: JournalEntry
): ReadonlyArray<RunEvent> => {
  switch (event._tag) {
    case "RunAccepted":
      return none
    case "RunClaimed":
      return event.epoch === state.epoch + 1 ? [event] : none
    case "ApprovalDecided":
      return decisionEvents(state, event)
    case "ApprovalClosed":
      return closedEvents(state, event, at)
    case "CallReopened":
      return settleCall(
        state,
        run,
        event.call,
        { _tag: "RunAgain" },
        recordedWho(event.by, event),
        at
      ).events
    case "CallSettled":
      return settlementEvents(state, run, event, at)
    default: {
      const input = inputOf(state, event)
      return input === undefined ? none : decide(state, input)
    }
  }
}

const diverged = (
  entry: JournalEntry | undefined,
  what: string,
  got: RunEvent | undefined
): Divergence => {
  const event = entry?.event ?? got
  return {
    seq: entry?.seq,
    ...(event === undefined ? { step: undefined, call: undefined } : positionOf(event)),
    what,
    // Events are JSON, which their types do not say.
    expected: (entry?.event ?? null) as never,
    got: (got ?? null) as never
  }
}

/**
 * Whether two events are equal. A recorded end without `finish` comes from a version without that member, so `finish` is not
 * compared.
 */
const isSameEvent = (made: RunEvent, recorded: RunEvent): boolean => {
  if (made._tag !== "RunEnded" || recorded._tag !== "RunEnded" || recorded.finish !== undefined) {
    return isSameJson(made, recorded)
  }
  const { finish: _, ...rest } = made
  return isSameJson(rest, recorded)
}

/** Replays all entries of one run from the first one, and stops at the first divergence. */
export const replayJournal = (
  run: RunId,
  entries: ReadonlyArray<JournalEntry>,
  look: Look = () => {}
): JournalReplay => {
  const state = emptyState()
  let same = 0
  const apply = (entry: JournalEntry) => {
    look(state, entry)
    evolve(state, entry.event)
    same++
  }
  for (let entry = entries[same]; entry !== undefined; entry = entries[same]) {
    if (entry.seq !== same || (same === 0) !== (entry.event._tag === "RunAccepted")) {
      return { state, same, divergence: diverged(entry, "the journal has a gap here", undefined) }
    }
    const concluded = isAccepted(state) ? conclude(state) : undefined
    if (concluded !== undefined && isSameEvent(concluded, entry.event)) {
      apply(entry)
      continue
    }
    // If several inputs were decided together, their conclusions come after the last of them.
    const events = isAccepted(state) ? decidedAgain(state, run, entry) : [entry.event]
    if (events.length === 0) {
      const what = "the decider makes nothing of this"
      return { state, same, divergence: diverged(entry, what, concluded) }
    }
    for (const event of events) {
      const recorded = entries[same]
      if (recorded === undefined || !isSameEvent(event, recorded.event)) {
        const what = "the decider makes another event of the same input"
        return { state, same, divergence: diverged(recorded, what, event) }
      }
      apply(recorded)
    }
  }
  const more = isAccepted(state) ? conclude(state) : undefined
  const divergence =
    more === undefined ? undefined : diverged(undefined, "the journal ends too early", more)
  return { state, same, divergence }
}

/** A question of the recording and its answer. */
export interface RecordedDecision {
  readonly approval: ApprovalId
  readonly call: string
  readonly tool: string
  /** `approve`, `deny`, `request_revision`, `modify`, `expired`, `cancelled`; `open` = it has no answer. */
  readonly decision: string
  readonly by: string | undefined
}

const names: Readonly<Record<Decision["_tag"], string>> = {
  Approve: "approve",
  Deny: "deny",
  RequestRevision: "request_revision",
  Modify: "modify"
}

/** Every question of a run, in the order in which they were put. */
export const recordedDecisions = (
  entries: ReadonlyArray<JournalEntry>
): ReadonlyArray<RecordedDecision> => {
  const decisions = new Map<ApprovalId, RecordedDecision>()
  for (const { event } of entries) {
    if (event._tag === "ApprovalRequested") {
      decisions.set(event.approval, {
        approval: event.approval,
        call: event.call,
        tool: event.tool_key,
        decision: "open",
        by: undefined
      })
    } else if (event._tag === "ApprovalDecided" || event._tag === "ApprovalClosed") {
      const request = decisions.get(event.approval)
      if (request === undefined) continue
      const decision = event._tag === "ApprovalClosed" ? event.how : names[event.decision._tag]
      decisions.set(event.approval, { ...request, decision, by: event.by })
    }
  }
  return [...decisions.values()]
}
