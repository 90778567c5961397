/**
 * Handlers of authorizations that workspaces grant in advance. The authorization desk checks who may grant and revoke; a customer
 * reaches only the agents for customers and their specialists.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { AgentDirectory, knownTo } from "../../../services/AgentDirectory.ts"
import { AuthorizationDesk } from "../../../services/AuthorizationDesk.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import type { WorkspaceAgentAuthorization } from "../../../src/permission/Authorization.ts"
import { boundedPage } from "../../../src/value/Pages.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import { problemOf } from "../boundary/Problems.ts"

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "authorizations">,
  never,
  AgentDirectory | AuthorizationDesk | Authentication | RequestBody | Validation
> = HttpApiBuilder.group(
  TroupeApi,
  "authorizations",
  Effect.fnUntraced(function* (handlers) {
    const desk = yield* AuthorizationDesk
    const directory = yield* AgentDirectory
    const { customer_agents } = yield* HttpSettings
    const caller = Effect.map(CurrentPrincipal, (by) => ({
      by,
      known: knownTo(directory, by, customer_agents)
    }))

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const { by, known } = yield* caller
        const { items, last } = yield* boundedPage(
          query.limit ?? limit_default,
          (before: WorkspaceAgentAuthorization | undefined, limit) => {
            const after = before?.id ?? query.after
            const page = { limit, all: query.all === "true" }
            return Effect.mapError(
              desk.list(after === undefined ? page : { ...page, after }, by, known),
              (error) => problemOf(error)
            )
          }
        )
        return { items, ...(last === undefined ? undefined : { next_after: last.id }) }
      }),
      grant: Effect.fnUntraced(function* ({ payload }) {
        const { by, known } = yield* caller
        return yield* Effect.mapError(desk.grant(payload, by, known), (error) => problemOf(error))
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        const { by, known } = yield* caller
        return yield* Effect.mapError(desk.revoke(params.id, by, known), (error) =>
          problemOf(error)
        )
      })
    })
  })
)
