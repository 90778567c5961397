/**
 * Lists runs for operators: the newest, and those that wait. Read-only: the journal writes the lists in the transaction of
 * the events that they follow from.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentName, RunId, Tenant } from "../src/Ids.ts"
import type { Need } from "../src/run/Needs.ts"
import type { RunItem, WaitingFor } from "../src/run/RunItem.ts"
import type { RunStatus } from "../src/run/RunState.ts"
import type { UnhostedWork } from "../src/run/UnhostedWork.ts"
import type { UnknownCall } from "../src/run/UnknownCall.ts"
import type { StoreError } from "./StoreError.ts"

export interface RunQuery {
  readonly tenant: Tenant
  /**
   * The agent that the message went to, which is not that of the address where the conversation had changed hands; or an agent
   * that the run has handed the conversation over to, also if that one has handed it on.
   */
  readonly agent?: AgentName | undefined
  /** Matches no run in quarantine, whose status is not known. */
  readonly status?: RunStatus | undefined
  readonly waiting?: WaitingFor | undefined
  /** Runs whose message was accepted at or after `created_from` and before `created_to`, in ms since 1970. */
  readonly created_from?: number | undefined
  readonly created_to?: number | undefined
  /** Continue after this one. Empty for an id that the tenant does not have. */
  readonly after?: RunId | undefined
  /** At most 500. */
  readonly limit: number
}

export interface UnknownQuery {
  readonly tenant: Tenant
  /** Only of these runs; absent = of all. At most 500. */
  readonly runs?: ReadonlyArray<RunId> | undefined
  /** At most 500. */
  readonly limit: number
}

export interface UnhostedQuery {
  /** Absent = of all. */
  readonly tenant?: Tenant | undefined
  /** What the process that asks hosts (`hostedBy`). */
  readonly here: ReadonlyArray<Need>
}

/** How many calls of a tool wait for an operator, over all tenants. */
export interface UnknownCount {
  readonly tool: string
  readonly calls: number
}

export class RunList extends Context.Service<
  RunList,
  {
    /**
     * Newest first, by the time of the message and then by id. An accepted message whose run has not begun is listed as a
     * `pending` run.
     */
    list(query: RunQuery): Effect.Effect<ReadonlyArray<RunItem>, StoreError>
    /** Calls that wait for an operator, oldest first. */
    unknown(query: UnknownQuery): Effect.Effect<ReadonlyArray<UnknownCall>, StoreError>
    /** The same as numbers, for metrics; at most 500 tools. */
    unknownByTool: Effect.Effect<ReadonlyArray<UnknownCount>, StoreError>
    /**
     * Agents with messages or unfinished runs that neither the caller nor another living process hosts; and other needs of
     * runs (`RunJournal.handOver`) that no single process hosts together. By tenant and agent, at most 500.
     */
    unhosted(query: UnhostedQuery): Effect.Effect<ReadonlyArray<UnhostedWork>, StoreError>
  }
>()("troupe/services/RunList") {}
