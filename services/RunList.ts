/**
 * Runs as operators look for them: the newest first, and those that wait for somebody. Owns nothing: what it gives is
 * written by the journal with the event that makes it so, in one transaction.
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
  readonly agent?: AgentName | undefined
  /** Of runs that are not in quarantine, whose status means nothing. */
  readonly status?: RunStatus | undefined
  readonly waiting?: WaitingFor | undefined
  /** Those behind this one. An id that the tenant does not have has nothing behind it. */
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
     * Newest first, by the time of the message and then by id. A message that was accepted is a run that is `pending`
     * before anybody has begun it.
     */
    list(query: RunQuery): Effect.Effect<ReadonlyArray<RunItem>, StoreError>
    /** Calls that wait for an operator, oldest first. */
    unknown(query: UnknownQuery): Effect.Effect<ReadonlyArray<UnknownCall>, StoreError>
    /** The same as numbers, for metrics; at most 500 tools. */
    unknownByTool: Effect.Effect<ReadonlyArray<UnknownCount>, StoreError>
    /**
     * Agents with messages or runs that are not over, that neither who asks nor another living process hosts; and what
     * runs need beside (`RunJournal.handOver`), where no one process hosts it all. By tenant and agent, at most 500.
     */
    unhosted(query: UnhostedQuery): Effect.Effect<ReadonlyArray<UnhostedWork>, StoreError>
  }
>()("troupe/services/RunList") {}
