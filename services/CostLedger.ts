/**
 * Reads the costs of model turns and what tools spent on models. The journal writes them in the transaction of the turn's or
 * the call's event; without a price table there are no entries.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { CostGroup, CostTotal } from "../src/cost/TurnCost.ts"
import type { AgentName, RunId, Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** Which costs are summed, and by what. */
export interface CostQuery {
  /** Whose costs. */
  readonly tenant: Tenant
  /** What each sum is of: a tenant, agent, model, run, tool, trace or day. */
  readonly by: CostGroup
  /** Only costs that were journaled at or after `from` and before `to`, in ms since 1970. */
  readonly from?: number | undefined
  /** Absent = up to now. */
  readonly to?: number | undefined
  /** The agent whose turns and calls they were; those of a specialist count for the specialist. */
  readonly agent?: AgentName | undefined
  /** The model that answered. Absent = any. */
  readonly model?: string | undefined
  /** Absent = of any run. */
  readonly run_id?: RunId | undefined
  /** The plain name of a tool: only what its bodies spent on models, without turns. */
  readonly tool?: string | undefined
  /** Absent = of any trace. */
  readonly trace_id?: string | undefined
  /** 1 to 500. */
  readonly limit: number
  /** Continue after this key. */
  readonly after?: string | undefined
}

/** What models cost, summed from the journals. */
export class CostLedger extends Context.Service<
  CostLedger,
  {
    /** Totals in the order of their keys (by code unit; runs are oldest first); at most `limit`. */
    totals(query: CostQuery): Effect.Effect<ReadonlyArray<CostTotal>, StoreError>
  }
>()("troupe/services/CostLedger") {}
