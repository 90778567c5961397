/**
 * The record of one attempt of a call. It is stored apart from the journal, for audits and for queries about one tool over many
 * runs, as in SemStreams. Its key is the call's id and a time, so a call that is retried has several records.
 */
import { Schema } from "effect"
import { Exception } from "../error/Exception.ts"
import { ToolFailure } from "../error/ToolError.ts"
import { CallId, RunId, Tenant } from "../value/Ids.ts"
import { Outcome } from "../run/RunEvent.ts"
import type { ToolCompleted } from "./ToolCallMetadata.ts"

/** One attempt. The last attempt of a call has an `outcome`; an earlier one has its failure in `retried`. */
export const CallRecord = Schema.Struct({
  /** `{run}/{call}.{ns since 1970}`; unique. */
  key: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(4_000)),
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

/** The key of a record of a call. */
export const recordKey = (call_id: string, timestamp_ns: bigint): string =>
  `${call_id}.${timestamp_ns}`

/** The record of a completed call. */
export const recordOf = (fact: ToolCompleted, timestamp_ns: bigint): CallRecord => {
  const { agent_name, ended_at, latency_ms, started_at, tool_name, trace_id } = fact.metadata
  return {
    key: recordKey(`${fact.run}/${fact.call}`, timestamp_ns),
    tenant: fact.tenant,
    run_id: fact.run,
    call_id: fact.call,
    trace_id,
    agent_name,
    tool_name,
    arguments: fact.arguments as Schema.Json,
    outcome: fact.outcome,
    ...(fact.exception === undefined ? undefined : { exception: fact.exception }),
    started_at,
    ended_at,
    duration_ms: latency_ms
  }
}

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

/** The record of an attempt that was followed by another one. */
export const recordOfRetried = (attempt: Retried, timestamp_ns: bigint): CallRecord => ({
  key: recordKey(`${attempt.run}/${attempt.call}`, timestamp_ns),
  tenant: attempt.tenant,
  run_id: attempt.run,
  call_id: attempt.call,
  trace_id: attempt.trace_id,
  agent_name: attempt.agent_name,
  tool_name: attempt.tool_name,
  arguments: attempt.arguments as Schema.Json,
  retried: attempt.error,
  started_at: attempt.started_at,
  ended_at: attempt.ended_at,
  duration_ms: Math.max(attempt.ended_at - attempt.started_at, 0)
})

/** The approximate memory that a record takes, in bytes, for bounded buffers. */
export const recordWeightOf = ({ exception, outcome, ...record }: CallRecord): number =>
  (exception === undefined ? 0 : (exception.message.length + exception.stacktrace.length) * 2) +
  (outcome?._tag === "Value" ? outcome.json.length * 2 : 0) +
  JSON.stringify(record.arguments ?? null).length * 2 +
  1_000
