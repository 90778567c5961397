/**
 * Handlers of calls that a client answers. The approval desk checks the result and who may give it.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { conversationFor } from "../boundary/Access.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import { problemOf } from "../boundary/Problems.ts"

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "clientCalls">,
  never,
  ApprovalDesk | ConversationStore | Authentication | Validation | RequestBody
> = HttpApiBuilder.group(
  TroupeApi,
  "clientCalls",
  Effect.fnUntraced(function* (handlers) {
    const desk = yield* ApprovalDesk
    const store = yield* ConversationStore
    const { customer_agents } = yield* HttpSettings
    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ params }) {
        const by = yield* CurrentPrincipal
        yield* conversationFor(store.read, by, "follow", params.id, customer_agents)
        const items = yield* Effect.mapError(desk.clientCalls(params.id, by), (error) =>
          problemOf(error)
        )
        return { items }
      }),
      answer: Effect.fnUntraced(function* ({ params, payload }) {
        const by = yield* CurrentPrincipal
        yield* Effect.mapError(desk.answer(params.id, payload, by), (error) => problemOf(error))
      })
    })
  })
)
