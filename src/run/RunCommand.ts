/**
 * What others than its owner may do to a run: decide, expire, cancel, settle. Each is a pure function of the run's state, called
 * by `RunJournal.amend` under the run's lock, and gives the events to append and the answer for the caller.
 */
import { Result, Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import type { Decision } from "../approval/Approval.ts"
import {
  ApprovalExpired,
  ApprovalNotFound,
  ApprovalSettled,
  DecisionUnfit
} from "../approval/Approval.ts"
import type { NotEntitled } from "../principal/NotEntitled.ts"
import type { ApprovalId, CallId, RunId, Tenant } from "../value/Ids.ts"
import { rootFrame } from "../value/Ids.ts"
import { isOpenTo } from "../conversation/CustomerView.ts"
import type { Principal, Who } from "../principal/Principal.ts"
import { whoOf } from "../principal/Principal.ts"
import { begunBy, hiding } from "../principal/HiddenReason.ts"
import { approverRefusal, isLimitedToOwn, ownRefusal } from "../principal/Rights.ts"
import { fitAnswer } from "./AnswerSchema.ts"
import { decidedText, refusedTurn, turnWithText } from "./Guarding.ts"
import type { ApprovalRequested, ModelTurned, Outcome, RunEvent } from "./RunEvent.ts"
import { refusedFrame, turnFinished } from "./TurnDecision.ts"
import { breachOf } from "./RunBreach.ts"
import { conclude } from "./RunConclusion.ts"
import type { LimitName } from "./RunLimits.ts"
import type { Settlement } from "./UnknownCall.ts"
import type { CallPhase, RunState } from "./RunState.ts"
import { questionOf } from "./RunState.ts"
import { evolve } from "./RunFold.ts"

/** There is no such run, or it is another tenant's. */
export class RunNotFound extends Schema.TaggedError<RunNotFound>()("RunNotFound", {
  /** The id that was asked for. */
  run_id: Schema.String
}) {
  override get message(): string {
    return `there is no run ${JSON.stringify(this.run_id)}`
  }
}

/** The run has ended; nothing can change it. */
export class RunIsOver extends Schema.TaggedError<RunIsOver>()("RunIsOver", {
  /** The id of the run. */
  run_id: Schema.String,
  /** How it ended: `complete`, `failed` or `cancelled`. */
  status: Schema.String
}) {
  override get message(): string {
    return `run ${this.run_id} is ${this.status}`
  }
}

/** Only a call whose outcome is unknown, or is being reconciled, can be settled by hand. */
export class CallNotUnknown extends Schema.TaggedError<CallNotUnknown>()("CallNotUnknown", {
  /** The call. */
  call: Schema.String,
  /** Where the call stands. */
  phase: Schema.String
}) {
  override get message(): string {
    return `call ${JSON.stringify(this.call)} is in phase ${this.phase}; only an unknown one can be settled`
  }
}

/** What a command does to a run, and what it answers. Events are appended even when the answer is a failure. */
export interface Amendment<A, E> {
  readonly events: ReadonlyArray<RunEvent>
  readonly answer: Result.Result<A, E>
}

export const refused = <E>(error: E): Amendment<never, E> => ({
  events: [],
  answer: Result.fail(error)
})
const done = (events: ReadonlyArray<RunEvent>): Amendment<void, never> => ({
  events,
  answer: Result.succeed(undefined)
})

/** For a caller of another tenant the run does not exist. */
export const inTenant = <A, E>(
  state: RunState,
  tenant: Tenant,
  run_id: RunId,
  amendment: () => Amendment<A, E>
): Amendment<A, E | RunNotFound> =>
  state.accepted.tenant === tenant ? amendment() : refused(new RunNotFound({ run_id }))

const expiredWith = (
  call: CallId,
  approval: ApprovalId,
  outcome: Outcome
): ReadonlyArray<RunEvent> => [
  { _tag: "ApprovalClosed", call, approval, how: "expired", by: "system:expiry" },
  { _tag: "CallSettled", call, outcome }
]

const expired = (call: CallId, approval: ApprovalId) =>
  expiredWith(call, approval, { _tag: "Expired" })

/** The reason of a call that failed because its client gave no result in time. */
export const client_timeout = "CLIENT_TIMEOUT"

/** The events of a call whose time passed while it waited for its client's result. */
export const clientExpired = (call: CallId, approval: ApprovalId) =>
  expiredWith(call, approval, {
    _tag: "Failed",
    error: {
      class: "ToolTransientError",
      kind: "timeout",
      reason: client_timeout,
      message: "the user's client gave no result in time"
    }
  })

/** A person's decision, as it is applied to a run. */
export interface DecisionCommand {
  readonly call: CallId
  readonly approval: ApprovalId
  readonly decision: Decision
  readonly by: Principal
  /** Digest of exactly what is approved; the record's own unless the decision is `Modify`. */
  readonly digest: string
}

/** Every channel decides through this: entitlement, expiry and pending are checked here and nowhere else. */
export const decideApproval = (
  state: RunState,
  command: DecisionCommand,
  now: number
): Amendment<
  void,
  ApprovalNotFound | ApprovalSettled | ApprovalExpired | NotEntitled | DecisionUnfit
> => {
  const { approval, by, call, decision, digest } = command
  const phase = state.calls.get(call)?.phase
  const request = questionOf(state, approval)
  if (request === undefined || by.tenant !== state.accepted.tenant) {
    return refused(new ApprovalNotFound({ id: approval }))
  }
  // A customer decides about its own messages alone; of others it is not told.
  if (!isOpenTo(by, "decide", state.accepted.by)) {
    return refused(hiding(begunBy(state.accepted.by), new ApprovalNotFound({ id: approval })))
  }
  const { approvers, expires_at } = request
  const refusal = approverRefusal(by, "decide", approvers)
  if (refusal !== undefined) return refused(refusal)
  if (!isKnown(decision)) return refused(unknownDecision(approval, decision))
  if (request._tag === "ClientRequested") {
    const { _tag: given } = decision
    return refused(new DecisionUnfit({ id: approval, decision: given, fits: ["its result"] }))
  }
  if (request.limit !== undefined) return decideLimit(state, command, request.limit)
  if (request.guarded !== undefined) return decideGuarded(state, command, request.guarded)
  if (phase?._tag !== "AwaitingApproval" || phase.request.approval !== approval) {
    const ended = phase?._tag === "Settled" ? phase.outcome._tag : undefined
    if (ended === "Expired" && expires_at !== undefined) {
      return refused(new ApprovalExpired({ id: approval, expired_at: expires_at }))
    }
    const status = ended === "Cancelled" ? "cancelled" : "decided"
    return refused(new ApprovalSettled({ id: approval, status }))
  }
  if (expires_at !== undefined && now >= expires_at) {
    return {
      events: expired(call, approval),
      answer: Result.fail(new ApprovalExpired({ id: approval, expired_at: expires_at }))
    }
  }
  const decided: RunEvent = {
    _tag: "ApprovalDecided",
    call,
    approval,
    decision,
    ...whoOf(by),
    digest
  }
  const outcome = refusedOutcome(decision, by.id)
  return done(
    outcome === undefined
      ? [decided]
      : [decided, { _tag: "CallSettled", call, outcome, ...whoOf(by) }]
  )
}

/** Extends the limit that the run has reached, or stops the run: at once, unless something of it is in flight. */
const decideLimit = (
  state: RunState,
  { approval, by, call, decision, digest }: DecisionCommand,
  limit: LimitName
): Amendment<void, ApprovalSettled | DecisionUnfit> => {
  if (state.question?.approval !== approval) {
    const status = state.stopping === undefined ? "decided" : "cancelled"
    return refused(new ApprovalSettled({ id: approval, status }))
  }
  if (decision._tag !== "Approve" && decision._tag !== "Deny") {
    return refused(
      new DecisionUnfit({ id: approval, decision: decision._tag, fits: ["Approve", "Deny"] })
    )
  }
  const decided: RunEvent = {
    _tag: "ApprovalDecided",
    call,
    approval,
    decision,
    ...whoOf(by),
    digest
  }
  if (decision._tag === "Approve") return done([decided])
  const reason = breachOf(state)?.reason ?? limit
  evolve(state, decided)
  return done([decided, ...stopped(state, whoOf(by), reason, "failed", decision.reason)])
}

const guard_decisions = ["Approve", "Deny", "Modify with a text that is not blank"]

/** The turn that guards asked about, as it is decided. Undefined = the person's text does not fit the schema of answers. */
const decidedTurn = (
  { accepted: { answer_schema } }: RunState,
  turned: ModelTurned,
  decision: Decision
): ModelTurned | undefined => {
  const { _tag, frame, step } = turned
  if (decision._tag === "Deny") {
    return { _tag, frame, step, ...refusedTurn(turned, "A person refused this.") }
  }
  if (decision._tag !== "Modify") return turned
  const { answer: _answer, unfit: _unfit, ...rest } = turned
  const changed = turnWithText(rest, decidedText(decision.arguments) ?? "")
  if (answer_schema === undefined || frame !== rootFrame || turned.calls.length > 0) return changed
  const fit = fitAnswer(answer_schema, changed.text)
  return Result.isSuccess(fit) ? { ...changed, answer: fit.success } : undefined
}

/** Passes the text that guards asked about, or another one, or refuses it. What follows is appended with the decision. */
const decideGuarded = (
  state: RunState,
  { approval, by, call, decision, digest }: DecisionCommand,
  { frame: id, turned }: NonNullable<ApprovalRequested["guarded"]>
): Amendment<void, ApprovalSettled | DecisionUnfit> => {
  const frame = state.frames.get(id)
  if (frame?.held?.approval !== approval) {
    const status = state.stopping === undefined ? "decided" : "cancelled"
    return refused(new ApprovalSettled({ id: approval, status }))
  }
  const turn = turned && decidedTurn(state, turned, decision)
  const isBlank = decision._tag === "Modify" && decidedText(decision.arguments) === undefined
  if (decision._tag === "RequestRevision" || isBlank || (turned !== undefined && !turn)) {
    const given = decision._tag
    return refused(new DecisionUnfit({ id: approval, decision: given, fits: guard_decisions }))
  }
  const events: Array<RunEvent> = []
  const append = (event: RunEvent) => {
    events.push(event)
    evolve(state, event)
  }
  append({ _tag: "ApprovalDecided", call, approval, decision, ...whoOf(by), digest })
  if (turn !== undefined) for (const event of turnFinished(state, turn)) append(event)
  else if (frame.refused !== undefined) append(refusedFrame(frame.refused))
  for (let event = conclude(state); event !== undefined; event = conclude(state)) append(event)
  return done(events)
}

/** A part of the runtime is named by a text alone. */
const named = (who: Who | string): Who => (typeof who === "string" ? { by: who } : who)

/** The run's stop, and all that follows from it at once. */
const stopped = (
  state: RunState,
  who: Who | string,
  reason: string,
  status: "cancelled" | "failed",
  message?: string
): ReadonlyArray<RunEvent> => {
  const events: Array<RunEvent> = []
  let event: RunEvent | undefined = {
    _tag: "RunStopping",
    status,
    ...named(who),
    reason,
    ...(message === undefined ? undefined : { message })
  }
  while (event !== undefined) {
    events.push(event)
    evolve(state, event)
    event = conclude(state)
  }
  return events
}

/** All variants of a decision: this does not compile when one is added to the type alone. */
const known: Record<Decision["_tag"], true> = {
  Approve: true,
  Deny: true,
  Modify: true,
  RequestRevision: true
}
const isKnown = (decision: Decision): boolean => Object.hasOwn(known, decision._tag)

/** JavaScript callers may pass anything; an unknown decision decides nothing. */
const unknownDecision = (id: ApprovalId, decision: Decision) =>
  new DecisionUnfit({
    id,
    decision: truncateUnits(String(decision._tag), 64),
    fits: Object.keys(known)
  })

/** The result of a call that a decision refuses; undefined = it may run. */
const refusedOutcome = (decision: Decision, by: string): Outcome | undefined => {
  switch (decision._tag) {
    case "Deny":
      return { _tag: "Denied", by, reason: decision.reason }
    case "RequestRevision":
      return { _tag: "Revised", by, note: decision.note }
    case "Approve":
    case "Modify":
      return undefined
  }
}

/** Closes a question whose time is over; does nothing to one that is answered or still has time. */
export const expireApproval = (
  state: RunState,
  call: CallId,
  approval: ApprovalId,
  now: number
): Amendment<void, never> => {
  const phase = state.calls.get(call)?.phase
  return phase?._tag === "AwaitingApproval" &&
    phase.request.approval === approval &&
    phase.request.expires_at !== undefined &&
    now >= phase.request.expires_at
    ? done(
        phase.request._tag === "ClientRequested"
          ? clientExpired(call, approval)
          : expired(call, approval)
      )
    : done([])
}

/**
 * Stops a run. What follows from that is appended with it, so that the questions of a parked run close in the same
 * transaction. The run's owner waits for calls in flight.
 */
export const cancelRun = (
  state: RunState,
  run_id: RunId,
  who: Who | string,
  reason: string,
  status: "cancelled" | "failed" = "cancelled"
): Amendment<void, RunIsOver> => {
  if (state.ended !== undefined)
    return refused(new RunIsOver({ run_id, status: state.ended.status }))
  if (state.stopping !== undefined) return done([])
  return done(stopped(state, who, reason, status))
}

/**
 * Is the call lost, though it may still be sent again or reconciled? It is when an earlier owner dispatched it, or when its attempt
 * is over. If an operator settles it now, that counts: it is neither sent again nor reconciled.
 */
const isLost = (state: RunState, phase: CallPhase | undefined, now: number): boolean =>
  phase?._tag === "Dispatched" &&
  phase.on_loss !== "unknown" &&
  (phase.epoch < state.epoch || (phase.on_loss === "ask" && now >= (phase.over_at ?? Infinity)))

/** Settles an unknown or lost call. `RunAgain` is for unknown calls only: a lost one is sent again or reconciled without it. */
export const settleCall = (
  state: RunState,
  run_id: RunId,
  call: CallId,
  settlement: Settlement,
  who: Who | string,
  now: number
): Amendment<void, RunIsOver | CallNotUnknown> => {
  if (state.ended !== undefined)
    return refused(new RunIsOver({ run_id, status: state.ended.status }))
  const phase = state.calls.get(call)?.phase
  const isOpen = settlement._tag !== "RunAgain" && isLost(state, phase, now)
  if (phase?._tag !== "Unknown" && !isOpen) {
    return refused(new CallNotUnknown({ call, phase: phase?._tag ?? "none" }))
  }
  switch (settlement._tag) {
    case "Succeeded":
      return done([
        {
          _tag: "CallSettled",
          call,
          outcome: { _tag: "Value", json: settlement.json },
          ...named(who)
        }
      ])
    case "Failed": {
      const error = {
        class: "ToolTerminalError",
        kind: "external",
        reason: "SETTLED_BY_OPERATOR",
        message: settlement.message
      } as const
      return done([
        { _tag: "CallSettled", call, ...named(who), outcome: { _tag: "Failed", error } }
      ])
    }
    case "RunAgain":
      return done([{ _tag: "CallReopened", call, ...named(who) }])
  }
}

/**
 * Does an operator say that a call had no effect, which has ended and may have had one? The run takes no event for it, but the key
 * of the call is free from then on.
 */
export const freesKey = (state: RunState, call: CallId, settlement: Settlement): boolean => {
  const phase = state.calls.get(call)?.phase
  if (settlement._tag !== "Failed" || phase?._tag !== "Settled") return false
  const { outcome } = phase
  return (
    outcome._tag === "Unknown" || (outcome._tag === "Failed" && outcome.error.kind === "internal")
  )
}

/** For whoever has the right for every run of the tenant, and for the principal `or`. */
const byEntitled = <A, E>(
  state: RunState,
  by: Principal,
  run_id: RunId,
  right: "cancel" | "settle",
  or: string | undefined,
  amendment: () => Amendment<A, E>
): Amendment<A, E | RunNotFound | NotEntitled> =>
  inTenant(state, by.tenant, run_id, (): Amendment<A, E | NotEntitled> =>
    !isLimitedToOwn(by, right) || by.id === or ? amendment() : refused(ownRefusal(by, right))
  )

/** A cancel by an operator, or by the sender of the run's message. */
export const cancelBy = (state: RunState, run: RunId, by: Principal, reason: string) =>
  byEntitled(state, by, run, "cancel", state.accepted.by, () =>
    cancelRun(state, run, whoOf(by), reason)
  )

/** A settlement by an operator. */
export const settleBy = (
  state: RunState,
  run: RunId,
  call: CallId,
  settlement: Settlement,
  by: Principal,
  now: number
) =>
  byEntitled(state, by, run, "settle", undefined, () =>
    settleCall(state, run, call, settlement, whoOf(by), now)
  )
