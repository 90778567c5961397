/**
 * `decide` turns an input into events: a pure function of the run's state. An input that no longer fits the state yields none.
 * What follows from the state alone is in `RunConclusion`, what has to be in flight in `RunWork`.
 */
import { truncateUnits } from "../value/CutText.ts"
import type { Json } from "../value/Canonical.ts"
import type { FileInput } from "../conversation/Part.ts"
import type { Spending } from "../cost/Spending.ts"
import { failureOf, ToolUserError } from "../error/ToolError.ts"
import type { AgentName, CallId, FrameId } from "../value/Ids.ts"
import { frameDepth, frameOpenedBy, rootFrame } from "../value/Ids.ts"
import type { Authorized } from "../permission/Authorization.ts"
import type { OnLoss } from "../tool/ToolSpec.ts"
import { breachOf, onBreach } from "./RunBreach.ts"
import { duplicatedBy } from "./RunGuard.ts"
import { handoffs_max_default } from "./RunLimits.ts"
import type { Guarded } from "./GuardVerdict.ts"
import type {
  ApprovalRequested,
  CallSettled,
  ClientRequested,
  Compacted,
  FreedKey,
  HostValues,
  MemoryRecalled,
  ModelTurned,
  Outcome,
  Question,
  RunBeside,
  RunEvent,
  RunStopping
} from "./RunEvent.ts"
import type { CallPhase, CallState, RunState } from "./RunState.ts"
import { questionOf, findCall, callOf, frameOf } from "./RunState.ts"
import { policyFailure, callSettled } from "./CallResult.ts"
import { textsGuarded, turnFailed, turnFinished, wantsTurn } from "./TurnDecision.ts"
import { sideRunRefusal } from "./SideRun.ts"
import { mayCompact } from "./StepFold.ts"

/** A model's finished turn, before its frame and step are added. */
export type Turn = Omit<ModelTurned, "_tag" | "frame" | "step" | "files" | "given"> & {
  /** Files that the model made, in the order of their parts; the journal names them as `files`. */
  readonly generated?: ReadonlyArray<FileInput>
}

export type RunInput =
  /** The run has a new owner: what the old one dispatched is lost or sent again. */
  | { readonly _tag: "Recovered" }
  /** `guarded`: what guards said of its text, which is the one that they have left of it. Absent = no guard was asked. */
  | {
      readonly _tag: "TurnFinished"
      readonly turned: ModelTurned
      readonly guarded?: ReadonlyArray<Guarded>
    }
  /** What guards say of texts that a wanted turn is to be shown; then the turn is wanted again, unless its frame has ended. */
  | {
      readonly _tag: "Guards"
      readonly frame: FrameId
      readonly step: number
      readonly verdicts: ReadonlyArray<Guarded>
      /** What a person is asked before the turn. A turn whose text it is about is in it. */
      readonly question?: Omit<ApprovalRequested, "_tag">
    }
  | {
      readonly _tag: "TurnFailed"
      readonly frame: FrameId
      readonly step: number
      readonly reason: string
      readonly message: string
      /** May the same turn work later? */
      readonly transient: boolean
      /** In how many ms, if that is known. */
      readonly retry_after_ms?: number
      /** What was written before the turn broke off. It is kept, and is no answer. */
      readonly text?: string
    }
  /** The prompt of a wanted turn is cut; then the turn is wanted again. */
  | { readonly _tag: "Compacts"; readonly compaction: Omit<Compacted, "_tag"> }
  /** What the first turn is told of memory; then the turn is wanted again. */
  | { readonly _tag: "Recalls"; readonly recalled: MemoryRecalled }
  /** An earlier run waits for people: this one answers beside it, if it has not begun its work yet. */
  | { readonly _tag: "Answers"; readonly beside: RunBeside }
  | {
      readonly _tag: "Delegates"
      readonly call: CallId
      readonly agent: AgentName
      readonly input: string
    }
  /** The conversation is to go on with another agent. */
  | {
      readonly _tag: "HandsOff"
      readonly call: CallId
      readonly from: AgentName
      readonly to: AgentName
    }
  | { readonly _tag: "RequestsApproval"; readonly request: Omit<ApprovalRequested, "_tag"> }
  /** The client of the conversation is to give the call's result. */
  | { readonly _tag: "RequestsClient"; readonly request: Omit<ClientRequested, "_tag"> }
  /** A limit of the run is reached, and a person decides whether the run goes on; `request.limit` names it. */
  | { readonly _tag: "RequestsLimitApproval"; readonly request: Omit<ApprovalRequested, "_tag"> }
  /** `wall_ms_max` has passed. */
  | { readonly _tag: "TimeIsUp" }
  | {
      readonly _tag: "Dispatches"
      readonly call: CallId
      readonly key: string
      readonly on_loss: OnLoss
      /** Its tool's key, unless `on_loss` is `unknown`. */
      readonly tool?: string
      /** When this attempt has ended and can no longer act, in ms since 1970. Before that its tool does not reconcile it. */
      readonly over_at?: number
      /** An earlier dispatch was lost; its tool has reconciled it and reports that it did nothing. */
      readonly reconciled?: true
      readonly via?: "queue"
      /** What the call is bound to beside its arguments. */
      readonly target?: Json
      /** What its host filled in for it. */
      readonly filled?: HostValues
      /** What its workspace had authorised in advance, in place of a person's approval. */
      readonly authorized?: Authorized
      /** Its key was held before, and freed by an operator. */
      readonly freed?: FreedKey
    }
  /** `reconciled`: the dispatch was lost, and this is what its tool reports of it. */
  | { readonly _tag: "Finished"; readonly settled: CallSettled; readonly reconciled?: true }
  /** A dispatched call's outcome cannot be known. */
  | { readonly _tag: "Lost"; readonly call: CallId; readonly spent?: Spending }
  | { readonly _tag: "Stops"; readonly stopping: Omit<RunStopping, "_tag"> }

const none: ReadonlyArray<RunEvent> = []

/**
 * The call if work for it may start now: one that has not begun, or a lost dispatch that may be sent again or reconciled
 * (phase `Dispatched`). `canStart` looks at the phase alone; this also demands that the run is neither over nor stopping.
 */
const startable = (state: RunState, id: CallId): CallState | undefined => {
  if (state.ended !== undefined || state.stopping !== undefined) return undefined
  const call = findCall(state, id)
  return call !== undefined && canStart(state, call.phase) ? call : undefined
}

/**
 * May a call of this phase start, as long as its run is not stopping? It is proposed, decided, or lost by an older owner and
 * declared safe to send again or to reconcile.
 */
export const canStart = (state: RunState, phase: CallPhase): boolean =>
  phase._tag === "Proposed" ||
  phase._tag === "Decided" ||
  (phase._tag === "Dispatched" && phase.epoch < state.epoch && phase.on_loss !== "unknown")

/**
 * The call if it may be dispatched now. One with `on_loss: "ask"` is sent again only after its tool has reconciled it, once
 * for each dispatch.
 */
const sendable = (
  state: RunState,
  { call: id, over_at, reconciled }: Extract<RunInput, { _tag: "Dispatches" }>
): CallState | undefined => {
  const phase = state.calls.get(id)?.phase
  const mustReconcile = phase?._tag === "Dispatched" && phase.on_loss === "ask"
  if (reconciled !== true) return mustReconcile ? undefined : startable(state, id)
  if (!mustReconcile || state.stopping !== undefined || over_at === undefined) return undefined
  return over_at > (phase.over_at ?? 0) ? state.calls.get(id) : undefined
}

/** A lost dispatch may have had its side effect, so its outcome is unknown. It requests no approval and opens no frame. */
const lost = ({ id, proposed }: CallState, spent?: Spending): RunEvent => ({
  _tag: "CallUnknown",
  call: id,
  tool: proposed.name,
  ...(spent === undefined ? undefined : { spent })
})

const recovered = (state: RunState): ReadonlyArray<RunEvent> => {
  const events: Array<RunEvent> = []
  for (const call of state.open) {
    const { phase } = call
    if (phase._tag === "Dispatched" && phase.epoch < state.epoch && phase.on_loss === "unknown") {
      events.push(lost(call))
    }
  }
  return events
}

/** The refusal of a call that duplicates an earlier one of its turn (same name and arguments); undefined for any other call. */
const duplicateRefused = (
  state: RunState,
  call: CallState
): ReadonlyArray<RunEvent> | undefined => {
  if (call.index === 0 || call.phase._tag !== "Proposed") return undefined
  const earlier = duplicatedBy(state, call)
  if (earlier === undefined) return undefined
  const error = new ToolUserError({
    kind: "invalid_args",
    reason: "DUPLICATE_CALL",
    message: `this turn asks for the same thing twice: "${truncateUnits(call.proposed.name, 64)}" with these arguments is call ${callOf(state, earlier).index + 1} of it, and runs once. If you mean it twice, call it again in your next turn.`
  })
  return [callSettled(call.id, { _tag: "Failed", error: failureOf(error) })]
}

/** What a call causes that may start now and was not dispatched before: its refusal as a duplicate, or else what `begin` says. */
const starting = (
  state: RunState,
  id: CallId,
  begin: (call: CallState) => ReadonlyArray<RunEvent>
): ReadonlyArray<RunEvent> => {
  const call = startable(state, id)
  if (call === undefined) return none
  if (call.phase._tag === "Dispatched") return [lost(call)]
  return duplicateRefused(state, call) ?? begin(call)
}

/** One refusal by a policy or a limit of the run. */
const refusedBy = (call: CallId, reason: string, message: string): ReadonlyArray<RunEvent> => [
  callSettled(call, policyFailure(reason, message))
]

const requestLimitApproval = (
  state: RunState,
  request: Omit<ApprovalRequested, "_tag">
): ReadonlyArray<RunEvent> => {
  if (state.stopping !== undefined || state.question !== undefined) return none
  if (questionOf(state, request.approval) !== undefined) return none
  const reached = breachOf(state)
  return reached !== undefined &&
    reached.limit === request.limit &&
    onBreach(state, reached.limit) === "ask"
    ? [{ _tag: "ApprovalRequested", ...request }]
    : none
}

/** Stops the run at once with `on_breach: "stop"`; otherwise the breach takes effect at the next turn. */
const timeIsUp = (state: RunState): ReadonlyArray<RunEvent> => {
  const { accepted, stopping, used } = state
  if (stopping !== undefined || used.timed_out || accepted.limits.wall_ms_max === 0) return none
  return onBreach(state, "wall_ms_max") === "stop"
    ? [{ _tag: "RunStopping", status: "failed", by: "runtime", reason: "wall_ms_max" }]
    : [{ _tag: "LimitReached", limit: "wall_ms_max" }]
}

/** After a lost acknowledgement the same input is decided again, perhaps after an answer: a question is put once. */
const requestApproval = (
  state: RunState,
  request: Omit<ApprovalRequested, "_tag">
): ReadonlyArray<RunEvent> =>
  questionOf(state, request.approval) !== undefined
    ? none
    : starting(state, request.call, () =>
        state.refused?.has(request.proposal) === true
          ? refusedBy(
              request.call,
              "APPROVAL_DENIED",
              "a person denied this same call before; it is not asked again"
            )
          : asked(state, { _tag: "ApprovalRequested", ...request })
      )

const asked = (state: RunState, question: Question): ReadonlyArray<RunEvent> =>
  state.questions < state.accepted.limits.questions_max
    ? [question]
    : refusedBy(question.call, "QUESTIONS_MAX", "this run may ask no more questions")

const requestClient = (
  state: RunState,
  request: Omit<ClientRequested, "_tag">
): ReadonlyArray<RunEvent> =>
  questionOf(state, request.approval) !== undefined
    ? none
    : starting(state, request.call, () => asked(state, { _tag: "ClientRequested", ...request }))

const delegates = (
  state: RunState,
  { agent, call: id, input }: Extract<RunInput, { _tag: "Delegates" }>
): ReadonlyArray<RunEvent> =>
  starting(state, id, (call) => {
    const { delegations_per_turn_max: most, depth_max } = state.accepted.limits
    if (frameDepth(call.frame) >= depth_max) {
      return refusedBy(id, "DEPTH_MAX", `delegations go at most ${depth_max} deep: do it yourself`)
    }
    const { calls } = frameOf(state, call.frame)
    if (calls.filter((each) => state.frames.has(frameOpenedBy(each))).length >= most) {
      return refusedBy(id, "DELEGATIONS_MAX", `at most ${most} delegations in one turn`)
    }
    return [{ _tag: "FrameOpened", frame: frameOpenedBy(id), call: id, agent, input }]
  })

/** Why the conversation may not change hands by this call; undefined = it may. */
const handoffRefusal = (state: RunState, { frame }: CallState): Outcome | undefined => {
  if (frame !== rootFrame) {
    return policyFailure(
      "HANDOFF_NESTED",
      "only the agent that speaks in the conversation hands it over: answer instead"
    )
  }
  if (frameOf(state, frame).next !== undefined) {
    return policyFailure("HANDOFF_TWICE", "this turn has handed the conversation over already")
  }
  const { handoffs_max: most = handoffs_max_default } = state.accepted.limits
  return state.handoffs < most
    ? undefined
    : policyFailure(
        "HANDOFFS_MAX",
        `the conversation changes hands at most ${most} times in one run: go on with it yourself`
      )
}

const handsOff = (
  state: RunState,
  { call: id, from, to }: Extract<RunInput, { _tag: "HandsOff" }>
): ReadonlyArray<RunEvent> =>
  starting(state, id, (call) => {
    const refused = handoffRefusal(state, call)
    if (refused !== undefined) return [callSettled(id, refused)]
    const json = JSON.stringify(`${to} goes on with the conversation`)
    return [{ _tag: "HandedOff", call: id, from, to }, callSettled(id, { _tag: "Value", json })]
  })

const dispatches = (
  state: RunState,
  input: Extract<RunInput, { _tag: "Dispatches" }>
): ReadonlyArray<RunEvent> => {
  const call = sendable(state, input)
  if (call === undefined) return none
  const duplicate = duplicateRefused(state, call)
  if (duplicate !== undefined) return duplicate
  if (call.phase._tag !== "Dispatched" && state.dispatches >= state.accepted.limits.writes_max) {
    return refusedBy(input.call, "WRITES_MAX", "this run may write no more")
  }
  const { _tag, reconciled: _reconciled, ...dispatch } = input
  return [{ _tag: "CallDispatched", ...dispatch, epoch: state.epoch }]
}

/** The result of a call. A dispatch of an older owner that the gate now refuses may have had its side effect: it is lost. */
const finished = (
  state: RunState,
  { reconciled, settled: result }: Extract<RunInput, { _tag: "Finished" }>
): ReadonlyArray<RunEvent> => {
  const call = findCall(state, result.call)
  if (call === undefined) return none
  const { phase } = call
  switch (phase._tag) {
    case "Proposed":
    case "Decided":
      return [result]
    case "Dispatched":
      return phase.epoch < state.epoch && !(reconciled === true && phase.on_loss === "ask")
        ? [lost(call, result.spent)]
        : [result]
    default:
      return none
  }
}

/** What a side run may not do, as the refusal of its call; undefined for what it may. */
const refusedBeside = (state: RunState, input: RunInput): ReadonlyArray<RunEvent> | undefined => {
  const refuse = (id: CallId) =>
    starting(state, id, ({ proposed }) => [
      callSettled(id, { _tag: "Failed", error: failureOf(sideRunRefusal(proposed.name)) })
    ])
  switch (input._tag) {
    case "Dispatches":
    case "HandsOff":
      return refuse(input.call)
    case "RequestsApproval":
    case "RequestsClient":
      return refuse(input.request.call)
    default:
      return undefined
  }
}

/** The events that an input causes; none if it no longer fits. */
export const decide = (state: RunState, input: RunInput): ReadonlyArray<RunEvent> => {
  if (state.ended !== undefined) return none
  const refused = state.beside && refusedBeside(state, input)
  if (refused !== undefined) return refused
  switch (input._tag) {
    case "Recovered":
      return recovered(state)
    case "TurnFinished":
      return turnFinished(state, input.turned, input.guarded)
    case "Guards":
      return textsGuarded(state, input)
    case "TurnFailed":
      return turnFailed(state, input)
    case "Compacts": {
      const { cause, frame, step } = input.compaction
      return wantsTurn(state, frame, step) && mayCompact(frameOf(state, frame), cause)
        ? [{ _tag: "Compacted", ...input.compaction }]
        : none
    }
    case "Recalls":
      return state.recalled === undefined && wantsTurn(state, rootFrame, 1)
        ? [input.recalled]
        : none
    case "Answers":
      return state.beside === undefined && wantsTurn(state, rootFrame, 1) ? [input.beside] : none
    case "Delegates":
      return delegates(state, input)
    case "HandsOff":
      return handsOff(state, input)
    case "RequestsApproval":
      return requestApproval(state, input.request)
    case "RequestsClient":
      return requestClient(state, input.request)
    case "RequestsLimitApproval":
      return requestLimitApproval(state, input.request)
    case "TimeIsUp":
      return timeIsUp(state)
    case "Dispatches":
      return dispatches(state, input)
    case "Finished":
      return finished(state, input)
    case "Lost": {
      const call = state.calls.get(input.call)
      return call?.phase._tag === "Dispatched" ? [lost(call, input.spent)] : none
    }
    case "Stops":
      return state.stopping === undefined ? [{ _tag: "RunStopping", ...input.stopping }] : none
  }
}
