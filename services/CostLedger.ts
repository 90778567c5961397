/**
 * What model turns cost, and what tools spent on models, to be read. It is written by the journal, in the transaction of
 * the turn or of the call's end; without a price table there is no entry.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { CostGroup, CostTotal } from "../src/cost/CostTotal.ts"
import type { AgentName, RunId, Tenant } from "../src/Ids.ts"
import type { StoreError } from "./StoreError.ts"

export interface CostQuery {
  readonly tenant: Tenant
  readonly by: CostGroup
  /** What was journaled at or after, and before, in ms since 1970. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** The agent whose turns and calls they were: a specialist's are its own. */
  readonly agent?: AgentName | undefined
  readonly model?: string | undefined
  readonly run_id?: RunId | undefined
  /** The plain name of a tool: what its bodies spent, and no turns. */
  readonly tool?: string | undefined
  readonly trace_id?: string | undefined
  /** 1 to 500. */
  readonly limit: number
  /** Continue behind this key. */
  readonly after?: string | undefined
}

export class CostLedger extends Context.Service<
  CostLedger,
  {
    /** In the order of their keys (by code unit; runs are oldest first), at most `limit`. */
    totals(query: CostQuery): Effect.Effect<ReadonlyArray<CostTotal>, StoreError>
  }
>()("troupe/services/CostLedger") {}
