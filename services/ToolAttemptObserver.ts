/**
 * Who is told of attempts that failed and that their tool's retry policy covers: metrics, recordings. A call has one
 * record of its end; this is what came before it. Observers are synchronous and must not throw.
 */
import { Context } from "effect"
import type { ToolFailure } from "../src/error/ToolError.ts"
import type { CallId, RunId, Tenant } from "../src/Ids.ts"

export interface ToolAttempt {
  readonly run: RunId
  readonly call: CallId
  readonly tenant: Tenant
  readonly trace_id: string
  readonly agent_name: string
  readonly tool_name: string
  /** What ran. Never to be changed. */
  readonly arguments: unknown
  /** Counts from 1. */
  readonly attempt: number
  readonly error: ToolFailure
  /** False: the attempts are used up, and this is how the call ends. */
  readonly again: boolean
  /** ms since 1970. */
  readonly started_at: number
  readonly ended_at: number
}

export type ToolAttemptObserver = (attempt: ToolAttempt) => void

export const ToolAttemptObservers = Context.Reference<ReadonlyArray<ToolAttemptObserver>>(
  "troupe/services/ToolAttemptObservers",
  { defaultValue: () => [] }
)
