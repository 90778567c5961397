/**
 * Handlers of the costs of model turns, read from the ledger.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { CostLedger } from "../../../services/CostLedger.ts"
import type { Authentication, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { problemOf } from "../boundary/Problems.ts"

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "costs">,
  never,
  CostLedger | Authentication | Validation
> = HttpApiBuilder.group(
  TroupeApi,
  "costs",
  Effect.fnUntraced(function* (handlers) {
    const ledger = yield* CostLedger

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const { tenant } = yield* CurrentPrincipal
        const { by = "agent", limit = limit_default, run: run_id, ...rest } = query
        const items = yield* Effect.mapError(
          ledger.totals({ ...rest, tenant, by, run_id, limit }),
          problemOf
        )
        const last = items.at(-1)
        return {
          items,
          ...(last === undefined || items.length < limit ? undefined : { next_after: last.key })
        }
      })
    })
  })
)
