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
  /** The run. */
  readonly run: RunId
  /** Whose run it is. */
  readonly tenant: Tenant
  /**
   * The agent of the turn, which may be a specialist or an agent that the run was handed over to; for a tool, the agent that
   * called the tool.
   */
  readonly agent: AgentName
  /** The trace of the run. */
  readonly trace_id: string
  /** The model that answered. Absent = not known. */
  readonly model?: string
  /** The tokens that it took. Absent = not known. */
  readonly usage?: Usage
  /** What it cost. Absent where no price table was given. */
  readonly cost?: TurnCost
  /** The tool whose body called the model; absent = a turn of the agent. */
  readonly tool?: string
  /** The number of model turns that this covers; absent = one. */
  readonly turns?: number
}

/** Is called with one turn of an agent, or one entry of a call's spending. */
export type ModelTurnObserver = (used: ModelUsed) => void

/** Who is told of each turn of a model. Nobody by default. */
export const ModelTurnObservers = Context.Reference<ReadonlyArray<ModelTurnObserver>>(
  "troupe/services/ModelTurnObservers",
  { defaultValue: () => [] }
)

/** A failed attempt that a tool's retry policy covers. The end of a call is reported to `ToolCallObservers`. */
export interface ToolAttempt {
  /** The run. */
  readonly run: RunId
  /** The call. */
  readonly call: CallId
  /** Whose run it is. */
  readonly tenant: Tenant
  /** The trace of the run. */
  readonly trace_id: string
  /** The agent that calls. */
  readonly agent_name: string
  /** The plain name of the tool. */
  readonly tool_name: string
  /** The arguments of the attempt. Must not be modified. */
  readonly arguments: unknown
  /** Counts from 1. */
  readonly attempt: number
  /** Why the attempt failed. */
  readonly error: ToolFailure
  /** Whether another attempt is made. False = the call ends with this error. */
  readonly willRetry: boolean
  /** ms since 1970. */
  readonly started_at: number
  /** When it ended, in ms since 1970. */
  readonly ended_at: number
}

/** Is called with each failed attempt that may be followed by another. */
export type ToolAttemptObserver = (attempt: ToolAttempt) => void

/** Who is told of failed attempts. Nobody by default. */
export const ToolAttemptObservers = Context.Reference<ReadonlyArray<ToolAttemptObserver>>(
  "troupe/services/ToolAttemptObservers",
  { defaultValue: () => [] }
)

/** Is called once per logical call that is completed. */
export type ToolCallObserver = (fact: ToolCompleted) => void

/** Who is told of each call that has its result. Nobody by default. */
export const ToolCallObservers = Context.Reference<ReadonlyArray<ToolCallObserver>>(
  "troupe/services/ToolCallObservers",
  { defaultValue: () => [] }
)

/** An event of a run, with the state behind the events that were appended with it. */
export interface RunFact {
  /** The run. */
  readonly run: RunId
  /** The state of the run behind the events. */
  readonly state: RunState
  /** The event. */
  readonly event: RunEvent
}
/** Is called with each event of the runs that this process has. */
export type RunObserver = (fact: RunFact) => void

/** Who is told of each event. Nobody by default. */
export const RunObservers = Context.Reference<ReadonlyArray<RunObserver>>(
  "troupe/services/RunObservers",
  { defaultValue: () => [] }
)
