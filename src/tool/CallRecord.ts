/**
 * What is recorded of a call, derived from its events: its metadata once it has ended, however many attempts it took; a record of
 * each attempt, stored apart from the journal for audits and for queries about one tool over many runs, as in SemStreams; and
 * Stargraph's facts. The key of a record is the call's id and a time, so a call that is retried has several.
 */
import { Schema, Result } from "effect"
import { Exception } from "../error/Exception.ts"
import { ToolFailure, ToolErrorClass } from "../error/ToolError.ts"
import { CallId, RunId, Tenant } from "../value/Ids.ts"
import { Outcome, errorClassOf, errorKindOf } from "../run/RunEvent.ts"
import type { ToolErrorKind } from "../error/ToolError.ts"
import type { CallSettled, RunEvent } from "../run/RunEvent.ts"
import type { RunState } from "../run/RunState.ts"
import { frameOf } from "../run/RunState.ts"
import { bounds_result, readJson } from "../value/BoundedJson.ts"
import { textUpTo } from "../value/Bounds.ts"
import { defined } from "../value/PlainObject.ts"

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

/** One attempt. The last attempt of a call has an `outcome`; an earlier one has its failure in `retried`. */
export const CallRecord = Schema.Struct({
  /** `{run}/{call}.{ns since 1970}`; unique. */
  key: textUpTo(4_000),
  tenant: Tenant,
  run_id: RunId,
  call_id: CallId,
  trace_id: Schema.String,
  agent_name: Schema.String,
  tool_name: Schema.String,
  arguments: Schema.Json,
  outcome: Schema.optionalKey(Outcome),
  retried: Schema.optionalKey(ToolFailure),
  /** The exception behind a fault of the tool; the outcome says only that there was one. */
  exception: Schema.optionalKey(Exception),
  /** ms since 1970. */
  started_at: Schema.Int,
  ended_at: Schema.Int,
  duration_ms: Schema.Int
})
export interface CallRecord extends Schema.Schema.Type<typeof CallRecord> {}

/** How a call ended: its body was run and gave a value or failed, also where it was tried again, or it was refused or left. */
export const EndedAs = Schema.Literals(["done", "failed", "refused"])
export type EndedAs = typeof EndedAs.Type

export const endedAs = ({ outcome }: Pick<CallRecord, "outcome">): EndedAs =>
  outcome === undefined || outcome._tag === "Failed"
    ? "failed"
    : errorClassOf(outcome) === null
      ? "done"
      : "refused"

/** The key of a record of a call. */
export const recordKey = (call_id: string, timestamp_ns: bigint): string =>
  `${call_id}.${timestamp_ns}`

/** An attempt that was followed by another one. */
export interface Retried extends Pick<
  CallRecord,
  "tenant" | "trace_id" | "agent_name" | "tool_name" | "started_at" | "ended_at"
> {
  readonly run: RunId
  readonly call: CallId
  readonly arguments: unknown
  readonly error: ToolFailure
}

const attemptOf = (
  attempt: Omit<Retried, "error">,
  timestamp_ns: bigint
): Omit<CallRecord, "outcome" | "retried" | "exception"> => {
  const { agent_name, call, ended_at, run, started_at, tenant, tool_name, trace_id } = attempt
  return {
    key: recordKey(`${run}/${call}`, timestamp_ns),
    tenant,
    run_id: run,
    call_id: call,
    trace_id,
    agent_name,
    tool_name,
    arguments: attempt.arguments as Schema.Json,
    started_at,
    ended_at,
    duration_ms: Math.max(ended_at - started_at, 0)
  }
}

/** The record of a completed call. */
export const recordOf = (fact: ToolCompleted, timestamp_ns: bigint): CallRecord => ({
  ...attemptOf({ ...fact, ...fact.metadata }, timestamp_ns),
  outcome: fact.outcome,
  ...defined({ exception: fact.exception })
})

/** The record of an attempt that was followed by another one. */
export const recordOfRetried = (attempt: Retried, timestamp_ns: bigint): CallRecord => ({
  ...attemptOf(attempt, timestamp_ns),
  retried: attempt.error
})

/** The approximate memory that a record takes, in bytes, for bounded buffers. */
export const recordWeightOf = ({ exception, outcome, ...record }: CallRecord): number =>
  (exception === undefined ? 0 : (exception.message.length + exception.stacktrace.length) * 2) +
  (outcome?._tag === "Value" ? outcome.json.length * 2 : 0) +
  JSON.stringify(record.arguments ?? null).length * 2 +
  1_000

/** The member `_tokens` of the result of a tool that asks a model itself. */
const TokensUsed = Schema.Struct({
  prompt: Schema.optionalKey(Schema.Int),
  completion: Schema.optionalKey(Schema.Int),
  total: Schema.Int
})
export interface TokensUsed extends Schema.Schema.Type<typeof TokensUsed> {}

export type ToolFact =
  | { readonly _tag: "tool-call"; readonly call: CallId }
  | { readonly _tag: "tool-result"; readonly call: CallId; readonly result: unknown }
  | { readonly _tag: "tokens-used"; readonly call: CallId; readonly tokens: TokensUsed }

const tokensIn = Schema.decodeUnknownOption(Schema.Struct({ _tokens: TokensUsed }))

/** Derives the facts from one run's events, oldest first. */
export const toolFactsOf = (events: Iterable<RunEvent>): ReadonlyArray<ToolFact> => {
  const facts: Array<ToolFact> = []
  const begun = new Set<CallId>()
  const begins = (call: CallId) => {
    if (begun.has(call)) return
    begun.add(call)
    facts.push({ _tag: "tool-call", call })
  }
  for (const event of events) {
    if (event._tag === "CallDispatched") begins(event.call)
    if (event._tag !== "CallSettled") continue
    const { call, outcome, started_at } = event
    // Only a body has a time at which it began.
    if (started_at !== undefined) begins(call)
    if (outcome._tag !== "Value" || !begun.has(call)) continue
    const result = Result.getOrElse(readJson(outcome.json, bounds_result), () => outcome.json)
    facts.push({ _tag: "tool-result", call, result })
    const used = tokensIn(result)
    if (used._tag === "Some") facts.push({ _tag: "tokens-used", call, tokens: used.value._tokens })
  }
  return facts
}
