/**
 * SemStreams' approvals as messages: the refusal of a call that needs one, and a person's answer. A run names an approval by its
 * id; SemStreams names it by loop and call, with the model's own id of the call.
 */
import { Result, Schema } from "effect"
import type { Decision } from "../approval/Approval.ts"
import type { ApprovalId } from "../value/Ids.ts"
import type { CallState, RunState } from "../run/RunState.ts"

const ResponseDecision = Schema.Literals(["approve", "reject", "modify"])
type ResponseDecision = typeof ResponseDecision.Type

/** A person's answer. `approved_by` is required to let a call run; a rejection may be anonymous. */
export interface ApprovalResponse {
  readonly loop_id: string
  readonly call_id: string
  readonly decision: ResponseDecision
  readonly approved_by: string | undefined
  readonly reason: string | undefined
  readonly modified_arguments: { readonly [name: string]: Schema.Json } | undefined
}

const Fields = Schema.Struct({
  loop_id: Schema.optional(Schema.NullOr(Schema.String)),
  call_id: Schema.optional(Schema.NullOr(Schema.String)),
  decision: Schema.optional(Schema.NullOr(Schema.String)),
  approved_by: Schema.optional(Schema.NullOr(Schema.String)),
  reason: Schema.optional(Schema.NullOr(Schema.String)),
  modified_arguments: Schema.optional(Schema.NullOr(Schema.Record(Schema.String, Schema.Json)))
})
const decodeFields = Schema.decodeUnknownResult(Fields)
const isDecision = Schema.is(ResponseDecision)

/** Decodes an answer. Fails with a sentence about the first wrong field, in the order loop, call, decision, approver. */
export const decodeResponse = (message: unknown): Result.Result<ApprovalResponse, string> =>
  Result.flatMap(
    Result.mapError(
      decodeFields(message),
      () => "the fields of an approval response must be texts"
    ),
    (fields): Result.Result<ApprovalResponse, string> => {
      const { approved_by, call_id, decision, loop_id, modified_arguments, reason } = fields
      if (!loop_id) return Result.fail("loop_id required")
      if (!call_id) return Result.fail("call_id required")
      if (!isDecision(decision)) {
        return Result.fail("decision must be one of approve, reject, modify")
      }
      if (decision !== "reject" && !approved_by) return Result.fail("approved_by required")
      return Result.succeed({
        loop_id,
        call_id,
        decision,
        approved_by: approved_by || undefined,
        reason: reason || undefined,
        modified_arguments: modified_arguments ?? undefined
      })
    }
  )

/** The answer as a decision. `modify` without arguments approves the proposed ones. */
export const decisionOf = (response: ApprovalResponse): Decision => {
  const { decision, modified_arguments, reason } = response
  switch (decision) {
    case "reject":
      return { _tag: "Deny", reason: reason ?? "rejected without a reason" }
    case "modify":
      if (modified_arguments !== undefined) {
        return {
          _tag: "Modify",
          arguments: modified_arguments,
          ...(reason === undefined ? undefined : { note: reason })
        }
      }
      return { _tag: "Approve", ...(reason === undefined ? undefined : { note: reason }) }
    case "approve":
      return { _tag: "Approve", ...(reason === undefined ? undefined : { note: reason }) }
  }
}

/** A call's id in SemStreams: the model's own, or the run's if the model gave none. */
export const callIdOf = ({ id, proposed }: Pick<CallState, "id" | "proposed">): string =>
  proposed.model_id === "" ? id : proposed.model_id

/** The approval that waits for the call with this id; undefined = none does. */
export const approvalOf = (state: RunState, call_id: string): ApprovalId | undefined => {
  for (const call of state.open) {
    const { phase } = call
    if (phase._tag !== "AwaitingApproval" || phase.request._tag === "ClientRequested") continue
    if (callIdOf(call) === call_id) return phase.request.approval
  }
  return undefined
}
