/** Sums of what models cost, from the ledger. */
import { Effect } from "effect"
import { CostLedger } from "../../services/CostLedger.ts"
import * as CostOperations from "../../src/operation/CostOperations.ts"
import { limit_default } from "../../src/operation/Page.ts"
import { pageOf, serve } from "./Served.ts"

export const list = serve(
  CostOperations.list,
  Effect.fnUntraced(function* (
    { by = "agent", limit = limit_default, run: run_id, ...rest },
    { tenant }
  ) {
    const query = { ...rest, tenant, by, run_id, limit }
    const items = yield* CostLedger.use((ledger) => ledger.totals(query))
    return pageOf({ items, last: items.length < limit ? undefined : items.at(-1) }, "key")
  })
)
