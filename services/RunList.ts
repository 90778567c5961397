/**
 * Lists runs for operators: the newest runs, and those that wait. Read-only: the journal writes these lists in the transaction of
 * the events that they derive from.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentName, RunId, Tenant } from "../src/value/Ids.ts"
import type { Need } from "../src/run/Needs.ts"
import type { RunItem, WaitingFor, UnhostedWork } from "../src/run/RunItem.ts"
import type { RunStatus } from "../src/run/RunState.ts"
import type { UnknownCall } from "../src/run/UnknownCall.ts"
import type { StoreError } from "./StoreError.ts"

/** Selects a page of runs. */
export interface RunQuery {
  /** Whose runs. */
  readonly tenant: Tenant
  /**
   * Matches runs by the agent that their message went to, which differs from the agent of the address if the conversation was
   * handed over before; or by an agent that the run has handed the conversation over to, even if that agent has handed it on.
   */
  readonly agent?: AgentName | undefined
  /** `open`: any run that is not over. Never matches a run in quarantine, because its status is not known. */
  readonly status?: RunStatus | "open" | undefined
  /** What they wait for. Absent = for anything or nothing. */
  readonly waiting?: WaitingFor | undefined
  /** Runs whose message was accepted at or after `created_from` and before `created_to`, in ms since 1970. */
  readonly created_from?: number | undefined
  /** Absent = up to now. */
  readonly created_to?: number | undefined
  /** Continue after this run. If the tenant has no run with this id, the page is empty. */
  readonly after?: RunId | undefined
  /** At most 500. */
  readonly limit: number
}

/** Selects calls whose outcome is unknown. */
export interface UnknownQuery {
  /** Whose calls. */
  readonly tenant: Tenant
  /** Only calls of these runs, at most 500; absent = calls of all runs. */
  readonly runs?: ReadonlyArray<RunId> | undefined
  /** Only calls of this tool, by the name that the model called. Absent = calls of all tools. */
  readonly tool?: string | undefined
  /** Only calls whose `agent` this is. Absent = calls of all agents. */
  readonly agent?: AgentName | undefined
  /** Only calls that became unknown before this moment, in ms since 1970. Absent = up to now. */
  readonly since_to?: number | undefined
  /** Continue after this call, which may be settled by now. */
  readonly after?: Pick<UnknownCall, "since" | "run_id" | "call"> | undefined
  /** At most 10,001. */
  readonly limit: number
}

/** Selects work that no living process can do. */
export interface UnhostedQuery {
  /** Absent = work of all tenants. */
  readonly tenant?: Tenant | undefined
  /** What the calling process hosts (`hostedBy`). */
  readonly hosted: ReadonlyArray<Need>
}

/** How many calls of a tool wait for an operator, over all tenants. */
export interface UnknownCount {
  /** The tool's name as the model called it. */
  readonly tool: string
  /** How many of its calls wait. */
  readonly calls: number
}

/** What stands in the store, over all tenants and processes. */
export interface Standing {
  /** Runs that have begun, have not ended and wait for no person. */
  readonly running: number
  /** Runs that only a person can advance. */
  readonly parked: number
  /** Open questions to people. */
  readonly questions: number
  /** When the oldest open question was asked, in ms since 1970; absent = there is none. */
  readonly oldest_question_at?: number | undefined
  /** Messages that could not be delivered and that nobody has replayed or discarded. */
  readonly dead_letters: number
  /** Calls whose outcome is unknown; at most 500 tools. */
  readonly unknown: ReadonlyArray<UnknownCount>
}

/** A run that has begun and is not over, without what it is about. */
export interface OpenRun {
  /** Who claimed it last. It has the run for as long as it lives (`RunOwnership.owners`). Absent = nobody did. */
  readonly owner?: string | undefined
  /** Where it stands. */
  readonly status: RunStatus
  /** When its message was accepted, in ms since 1970. */
  readonly created_at: number
}

/** Lists and counts of runs, without reading their journals. */
export class RunList extends Context.Service<
  RunList,
  {
    /**
     * Runs, newest first, ordered by the time of the message and then by id. An accepted message whose run has not begun is
     * listed as a `pending` run.
     */
    list(query: RunQuery): Effect.Effect<ReadonlyArray<RunItem>, StoreError>
    /** The ids of the runs that match, in the same order; here the limit is at most 10,001. */
    matching(query: RunQuery): Effect.Effect<ReadonlyArray<RunId>, StoreError>
    /** Calls whose outcome is unknown and that wait for an operator, oldest first. */
    unknown(query: UnknownQuery): Effect.Effect<ReadonlyArray<UnknownCall>, StoreError>
    /** Runs of a tenant that are not over, nor in quarantine, in any order; at most `limit` (up to 1,001). */
    open(tenant: Tenant, limit: number): Effect.Effect<ReadonlyArray<OpenRun>, StoreError>
    /** Numbers for metrics. */
    standing: Effect.Effect<Standing, StoreError>
    /**
     * Agents with messages or unfinished runs that neither the caller nor another living process hosts, and other needs of runs
     * (`RunOwnership.handOver`) that no single process hosts together. Sorted by tenant and agent; at most 500.
     */
    unhosted(query: UnhostedQuery): Effect.Effect<ReadonlyArray<UnhostedWork>, StoreError>
  }
>()("troupe/services/RunList") {}
