/**
 * Observers of what a runtime does, for logs, metrics and recordings. The process that appended an event calls them once it is
 * durable. They are synchronous and must not throw.
 */
import { Context } from "effect"
import type { RunId, CallId, Tenant, AgentName } from "../src/value/Ids.ts"
import type { RunEvent } from "../src/run/RunEvent.ts"
import type { RunState } from "../src/run/RunState.ts"
import type { ToolCompleted } from "../src/tool/CallRecord.ts"
import type { ToolFailure } from "../src/error/ToolError.ts"
import type { TurnCost, Usage } from "../src/cost/TurnCost.ts"

/** A turn of a model, or what a call says it has spent on one. */
export interface ModelUsed {
  readonly run: RunId
  readonly tenant: Tenant
  /**
   * The agent of the turn, which may be a specialist or an agent that the run was handed over to; for a tool, the agent that
   * called the tool.
   */
  readonly agent: AgentName
  readonly trace_id: string
  readonly model?: string
  readonly usage?: Usage
  readonly cost?: TurnCost
  /** The tool whose body called the model; absent = a turn of the agent. */
  readonly tool?: string
  /** The number of model turns that this covers; absent = one. */
  readonly turns?: number
}

/** Is called with one turn of an agent, or one entry of a call's spending. */
export type ModelTurnObserver = (used: ModelUsed) => void

export const ModelTurnObservers = Context.Reference<ReadonlyArray<ModelTurnObserver>>(
  "troupe/services/ModelTurnObservers",
  { defaultValue: () => [] }
)

/** A failed attempt that a tool's retry policy covers. The end of a call is reported to `ToolCallObservers`. */
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

/** Is called once per logical call that is completed. */
export type ToolCallObserver = (fact: ToolCompleted) => void

export const ToolCallObservers = Context.Reference<ReadonlyArray<ToolCallObserver>>(
  "troupe/services/ToolCallObservers",
  { defaultValue: () => [] }
)

/** An event of a run, with the state behind the events that were appended with it. */
export interface RunFact {
  readonly run: RunId
  readonly state: RunState
  readonly event: RunEvent
}
export type RunObserver = (fact: RunFact) => void

export const RunObservers = Context.Reference<ReadonlyArray<RunObserver>>(
  "troupe/services/RunObservers",
  { defaultValue: () => [] }
)
