/**
 * Approvals in SemStreams' words, as a codec: its answers become our decisions, and our runs are shown as its loops. A
 * gate of ours is named by an approval's id; one of SemStreams by loop and call, where the call's id is the model's own.
 */
import { Result, Schema } from "effect"
import type { ApprovalId } from "../Ids.ts"
import type { RunState } from "../run/RunState.ts"
import type { Decision } from "../approval/Approval.ts"

export const LoopState = Schema.Literals([
  "exploring",
  "planning",
  "architecting",
  "executing",
  "reviewing",
  "awaiting_approval",
  "complete",
  "failed",
  "cancelled"
])
export type LoopState = typeof LoopState.Type

const over: ReadonlySet<LoopState> = new Set(["complete", "failed", "cancelled"])

/** A loop that is over stays so. */
export const isTerminal = (state: LoopState): boolean => over.has(state)

/** What a loop waits for. A `timeout_ms` of 0 or none waits for ever (SM-59). */
export const PendingApproval = Schema.Struct({
  call_id: Schema.String,
  tool_name: Schema.String,
  arguments: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  reason: Schema.optionalKey(Schema.String),
  requested_at: Schema.optionalKey(Schema.Int),
  timeout_ms: Schema.optionalKey(Schema.Int),
  trace_id: Schema.optionalKey(Schema.String)
})
export interface PendingApproval extends Schema.Schema.Type<typeof PendingApproval> {}

/** A loop as far as its gate goes. `before` is the state it returns to, empty when that was lost. */
export interface LoopRecord {
  readonly state: LoopState
  readonly before: LoopState | ""
  readonly pending: PendingApproval | null
}

/** Puts a loop before its gate. The same call again is the same gate; another one is refused. */
export const beginAwaiting = (
  record: LoopRecord,
  pending: PendingApproval
): Result.Result<LoopRecord, string> => {
  if (over.has(record.state)) {
    return Result.fail(`cannot begin awaiting approval from terminal state ${record.state}`)
  }
  if (record.pending !== null && record.pending.call_id !== pending.call_id) {
    return Result.fail(`already awaiting approval for call ${record.pending.call_id}`)
  }
  if (pending.call_id === "") return Result.fail("call_id required")
  if (pending.tool_name === "") return Result.fail("tool_name required")
  return Result.succeed({
    state: "awaiting_approval",
    before: record.state === "awaiting_approval" ? record.before : record.state,
    pending
  })
}

/** Takes a loop past its gate, to where it was before; to executing where that was lost (SM-60). */
export const resolveAwaiting = (record: LoopRecord): Result.Result<LoopRecord, string> => {
  if (record.state !== "awaiting_approval") return Result.fail("loop not awaiting approval")
  if (record.pending === null) {
    return Result.fail("loop is awaiting approval and has no pending approval")
  }
  const { before } = record
  return Result.succeed({
    state: before === "" || before === "awaiting_approval" ? "executing" : before,
    before: "",
    pending: null
  })
}

/** Is the gate's time over at `now`, in ms since 1970? */
export const isOverdue = (pending: PendingApproval, now: number): boolean => {
  const { requested_at = now, timeout_ms = 0 } = pending
  return timeout_ms > 0 && now - requested_at >= timeout_ms
}

export const ResponseDecision = Schema.Literals(["approve", "reject", "modify"])
export type ResponseDecision = typeof ResponseDecision.Type

/** A person's answer. Who approved is needed to let a call run; a rejection may be anonymous. */
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

/** Reads an answer, or says which field is at fault; the first in the order loop, call, decision, approver. */
export const decodeResponse = (message: unknown): Result.Result<ApprovalResponse, string> =>
  Result.flatMap(
    Result.mapError(decodeFields(message), () => "an approval response has texts in its fields"),
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

/** The same answer as our desk takes it. A modification without arguments lets the proposed ones run. */
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

/** The gate that an answer means; undefined if none waits under that call's id: then the answer is dropped (SM-57). */
export const approvalOf = (state: RunState, call_id: string): ApprovalId | undefined => {
  for (const { phase, proposed } of state.open) {
    if (phase._tag === "Asking" && proposed.model_id === call_id) return phase.request.approval
  }
  return undefined
}

/** A run as a loop: where it is, and what it waits for. The phases of SemStreams' own planning have no counterpart. */
export const loopOf = (state: RunState): LoopRecord => {
  if (state.ended !== undefined) return { state: state.ended.status, before: "", pending: null }
  if (state.asking === 0) return { state: "executing", before: "", pending: null }
  for (const { phase, proposed } of state.open) {
    if (phase._tag !== "Asking") continue
    const { arguments: args, payload } = phase.request
    return {
      state: "awaiting_approval",
      before: "executing",
      pending: {
        call_id: proposed.model_id,
        tool_name: payload.tool_name,
        reason: `${required_prefix}${payload.effect_description}`,
        trace_id: state.accepted.trace_id,
        ...(isRecord(args) ? { arguments: args } : undefined)
      }
    }
  }
  return { state: "awaiting_approval", before: "executing", pending: null }
}

/** SemStreams' prefix of a call that has to be approved. */
export const required_prefix = "approval_required: "

const isRecord = (value: Schema.Json): value is { readonly [name: string]: Schema.Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)
