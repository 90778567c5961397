/**
 * Handlers of the tenant's tokens. Both the endpoints and the port check who may use them.
 */
import { Effect, Redacted } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { Credentials } from "../../../services/Credentials.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal, CurrentToken } from "../../../src/operation/Boundary.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import type { AccessToken } from "../../../src/permission/AccessToken.ts"
import { boundedPage } from "../../../src/value/Pages.ts"
import { problemOf } from "../boundary/Problems.ts"

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "tokens">,
  never,
  Credentials | Authentication | RequestBody | Validation
> = HttpApiBuilder.group(
  TroupeApi,
  "tokens",
  Effect.fnUntraced(function* (handlers) {
    const credentials = yield* Credentials

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const by = yield* CurrentPrincipal
        const { items, last } = yield* boundedPage(
          query.limit ?? limit_default,
          (before: AccessToken | undefined, limit) =>
            Effect.mapError(
              credentials.list({ limit, after: before?.id ?? query.after }, by),
              (error) => problemOf(error)
            )
        )
        return { items, ...(last === undefined ? undefined : { next_after: last.id }) }
      }),
      create: Effect.fnUntraced(function* ({ payload }) {
        const by = yield* CurrentPrincipal
        const { text, token } = yield* Effect.mapError(
          credentials.create(payload, by, yield* CurrentToken),
          (error) => problemOf(error)
        )
        return { token: Redacted.value(text), ...token }
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        const by = yield* CurrentPrincipal
        return yield* Effect.mapError(credentials.revoke(params.id, by), (error) =>
          problemOf(error)
        )
      })
    })
  })
)
