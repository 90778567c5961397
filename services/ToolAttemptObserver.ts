/**
 * Observers of failed attempts that a tool's retry policy covers, for metrics and recordings. The end of a call is reported to
 * `ToolCallObservers`. Observers are synchronous and must not throw.
 */
import { Context } from "effect"
import type { ToolFailure } from "../src/error/ToolError.ts"
import type { CallId, RunId, Tenant } from "../src/value/Ids.ts"

export interface ToolAttempt {
  readonly run: RunId
  readonly call: CallId
  readonly tenant: Tenant
  readonly trace_id: string
  readonly agent_name: string
  readonly tool_name: string
  /** The arguments of the attempt. Must not be modified. */
  readonly arguments: unknown
  /** Counts from 1. */
  readonly attempt: number
  readonly error: ToolFailure
  /** Whether another attempt is made. False = the call ends with this error. */
  readonly willRetry: boolean
  /** ms since 1970. */
  readonly started_at: number
  readonly ended_at: number
}

export type ToolAttemptObserver = (attempt: ToolAttempt) => void

export const ToolAttemptObservers = Context.Reference<ReadonlyArray<ToolAttemptObserver>>(
  "troupe/services/ToolAttemptObservers",
  { defaultValue: () => [] }
)
