/**
 * What the client of a conversation does to a call that waits for its result: a pure function of the run's state, applied by
 * the journal to the run as it is.
 */
import { Result } from "effect"
import {
  ApprovalExpired,
  ApprovalNotFound,
  ApprovalSettled,
  DecisionUnfit
} from "../approval/Approval.ts"
import type { NotEntitled } from "../principal/NotEntitled.ts"
import type { ApprovalId } from "../value/Ids.ts"
import { begunBy, hiding } from "../principal/HiddenReason.ts"
import type { Principal } from "../principal/Principal.ts"
import { whoOf } from "../principal/Principal.ts"
import { isLimitedToOwn, rightRefusal } from "../principal/Rights.ts"
import type { Amendment } from "./RunCommand.ts"
import { client_timeout, clientExpired, refused } from "./RunCommand.ts"
import type { Outcome } from "./RunEvent.ts"
import type { RunState } from "./RunState.ts"
import { questionOf } from "./RunState.ts"

/** The sender of the run's message, and who may answer for everybody of its tenant. For others there is no such call. */
const isTheirs = (state: RunState, by: Principal): boolean =>
  by.tenant === state.accepted.tenant &&
  (!isLimitedToOwn(by, "answer") || by.id === state.accepted.by)

/** Gives a call its result, once and in time. The result was checked against what the call takes. */
export const answerClient = (
  state: RunState,
  approval: ApprovalId,
  outcome: Extract<Outcome, { readonly _tag: "Value" | "Failed" }>,
  by: Principal,
  now: number
): Amendment<
  void,
  ApprovalNotFound | ApprovalSettled | ApprovalExpired | NotEntitled | DecisionUnfit
> => {
  const request = questionOf(state, approval)
  const missing = new ApprovalNotFound({ id: approval })
  if (request === undefined) return refused(missing)
  if (!isTheirs(state, by)) return refused(hiding(begunBy(state.accepted.by), missing))
  const refusal = rightRefusal(by, "answer")
  if (refusal !== undefined) return refused(refusal)
  if (request._tag !== "ClientRequested") {
    return refused(new DecisionUnfit({ id: approval, decision: "result", fits: ["decision"] }))
  }
  const { call, expires_at } = request
  const phase = state.calls.get(call)?.phase
  const isOpen = phase?._tag === "AwaitingApproval" && phase.request.approval === approval
  const isLate = expires_at !== undefined && now >= expires_at
  if (!isOpen) {
    const outcome = phase?._tag === "Settled" ? phase.outcome : undefined
    if (outcome?._tag === "Failed" && outcome.error.reason === client_timeout && isLate) {
      return refused(new ApprovalExpired({ id: approval, expired_at: expires_at }))
    }
    const status = outcome?._tag === "Cancelled" ? "cancelled" : "decided"
    return refused(new ApprovalSettled({ id: approval, status }))
  }
  if (isLate) {
    return {
      events: clientExpired(call, approval),
      answer: Result.fail(new ApprovalExpired({ id: approval, expired_at: expires_at }))
    }
  }
  return {
    events: [
      { _tag: "ApprovalClosed", call, approval, how: "answered", ...whoOf(by) },
      { _tag: "CallSettled", call, outcome, ...whoOf(by) }
    ],
    answer: Result.succeed(undefined)
  }
}
