/**
 * Handlers of erasures. The endpoints check who may ask for them.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { SubjectErasure } from "../../../services/SubjectErasure.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import type { ErasureRecord } from "../../../src/erasure/Erasure.ts"
import { boundedPage } from "../../../src/value/Pages.ts"
import { problemOf } from "../boundary/Problems.ts"

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "erasures">,
  never,
  SubjectErasure | Authentication | RequestBody | Validation
> = HttpApiBuilder.group(
  TroupeApi,
  "erasures",
  Effect.fnUntraced(function* (handlers) {
    const erasure = yield* SubjectErasure

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const { tenant } = yield* CurrentPrincipal
        const { items, last } = yield* boundedPage(
          query.limit ?? limit_default,
          (before: ErasureRecord | undefined, limit) =>
            Effect.mapError(
              erasure.list({ tenant, limit, after: before?.id ?? query.after }),
              (error) => problemOf(error)
            )
        )
        return { items, ...(last === undefined ? undefined : { next_after: last.id }) }
      }),
      erase: Effect.fnUntraced(function* ({ payload: { subject } }) {
        const { id: by, tenant } = yield* CurrentPrincipal
        return yield* Effect.mapError(erasure.erase({ tenant, subject, by }), (error) =>
          problemOf(error)
        )
      })
    })
  })
)
