/**
 * What model turns cost, to be read. It is written by the journal, in the transaction of the turn; a turn without a
 * price table has no entry.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { CostGroup, CostTotal } from "../src/cost/CostTotal.ts"
import type { AgentName, RunId, Tenant } from "../src/Ids.ts"
import type { StoreError } from "./TaskStore.ts"

export interface CostQuery {
  readonly tenant: Tenant
  readonly by: CostGroup
  /** Turns journaled at or after, and before, in ms since 1970. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** The agent whose turns they were: a specialist's are its own. */
  readonly agent?: AgentName | undefined
  readonly model?: string | undefined
  readonly run_id?: RunId | undefined
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
