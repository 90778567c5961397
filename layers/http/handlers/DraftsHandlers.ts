/**
 * Handlers of drafts, which use only the store of drafts. The principal of the request publishes or withdraws a draft itself:
 * neither an agent nor the approval of a call is involved.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { DraftStore } from "../../../services/spectral/platform/contracts/DraftStore.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import type { Draft } from "../../../src/spectral/platform/contracts/Draft.ts"
import { boundedPage } from "../../../src/value/Pages.ts"
import { kept } from "./KeptRecords.ts"
import { problemOf } from "../boundary/Problems.ts"

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "drafts">,
  never,
  Authentication | RequestBody | Validation
> = HttpApiBuilder.group(
  TroupeApi,
  "drafts",
  Effect.fnUntraced(function* (handlers) {
    const drafts = kept(yield* Effect.serviceOption(DraftStore))

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const { tenant } = yield* CurrentPrincipal
        const store = yield* drafts
        const { items, last } = yield* boundedPage<Draft, StoreError>(
          query.limit ?? limit_default,
          (before, limit) =>
            store.drafts(tenant, { ...query, limit, after: before?.draft_id ?? query.after })
        ).pipe(Effect.mapError(problemOf))
        return { items, ...(last === undefined ? undefined : { next_after: last.draft_id }) }
      }),
      get: Effect.fnUntraced(function* ({ params }) {
        const { tenant } = yield* CurrentPrincipal
        const store = yield* drafts
        return yield* Effect.mapError(store.draft(tenant, params.draft_id), (e) => problemOf(e))
      }),
      publish: Effect.fnUntraced(function* ({ params, payload }) {
        const { id, tenant } = yield* CurrentPrincipal
        const { draft_id } = params
        const store = yield* drafts
        const published = store.publish(tenant, draft_id, { ...payload, by: id })
        return yield* Effect.mapError(
          Effect.andThen(published, store.draft(tenant, draft_id)),
          (e) => problemOf(e)
        )
      }),
      withdraw: Effect.fnUntraced(function* ({ params, payload }) {
        const { id, tenant } = yield* CurrentPrincipal
        const store = yield* drafts
        const closing = { ...payload, by: id }
        return yield* Effect.mapError(store.withdraw(tenant, params.draft_id, closing), (e) =>
          problemOf(e)
        )
      })
    })
  })
)
