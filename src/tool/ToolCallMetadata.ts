/**
 * The record of one call that has ended, however many attempts it took: a projection of its `CallSettled` event.
 */
import { Schema } from "effect"
import { ToolErrorClass } from "../error/ToolError.ts"
import type { ToolErrorKind } from "../error/ToolError.ts"
import type { Exception } from "../error/Exception.ts"
import type { CallId, RunId, Tenant } from "../value/Ids.ts"
import type { CallSettled, Outcome } from "../run/RunEvent.ts"
import { errorClassOf, errorKindOf } from "../run/RunEvent.ts"
import type { RunState } from "../run/RunState.ts"
import { frameOf } from "../run/RunLookup.ts"

/** Exactly these eight members. Times are in ms since 1970, and `latency_ms` is their difference. */
export const ToolCallMetadata = Schema.Struct({
  tool_name: Schema.String,
  agent_name: Schema.String,
  latency_ms: Schema.Int,
  ok: Schema.Boolean,
  error_class: Schema.NullOr(ToolErrorClass),
  trace_id: Schema.String,
  started_at: Schema.Int,
  ended_at: Schema.Int
})
export interface ToolCallMetadata extends Schema.Schema.Type<typeof ToolCallMetadata> {}

/** The facts about a completed call from which logs, spans, metrics and records are derived. */
export interface ToolCompleted {
  readonly metadata: ToolCallMetadata
  readonly run: RunId
  readonly call: CallId
  readonly tenant: Tenant
  readonly error_kind: ToolErrorKind | null
  readonly error_reason: string | undefined
  /** The arguments with which the call ran: the model's, or an approver's modification. They must not be changed. */
  readonly arguments: unknown
  /** The complete outcome, as it was journaled. */
  readonly outcome: Outcome
  /** The exception behind a fault of the tool, for operators only. */
  readonly exception?: Exception
}

const reasonOf = (outcome: Outcome): string | undefined => {
  switch (outcome._tag) {
    case "Failed":
      return outcome.error.reason
    case "Denied":
      return "APPROVAL_DENIED"
    case "Expired":
      return "APPROVAL_EXPIRED"
    case "Cancelled":
      return "CANCELLED"
    default:
      return undefined
  }
}

/**
 * The facts about one settled call; undefined if the run has no such call. A call whose body never ran began and ended at `now`.
 */
export const toolCompletedOf = (
  run: RunId,
  state: RunState,
  event: CallSettled,
  now: number
): ToolCompleted | undefined => {
  const call = state.calls.get(event.call)
  if (call === undefined) return undefined
  const started_at = event.started_at ?? event.ended_at ?? now
  const ended_at = event.ended_at ?? started_at
  const error_class = errorClassOf(event.outcome)
  return {
    run,
    call: event.call,
    tenant: state.accepted.tenant,
    error_kind: errorKindOf(event.outcome),
    error_reason: reasonOf(event.outcome),
    arguments: call.arguments,
    outcome: event.outcome,
    metadata: {
      tool_name: call.proposed.name,
      agent_name: frameOf(state, call.frame).agent,
      latency_ms: Math.max(ended_at - started_at, 0),
      ok: error_class === null,
      error_class,
      trace_id: state.accepted.trace_id,
      started_at,
      ended_at
    }
  }
}
