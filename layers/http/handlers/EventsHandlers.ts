/**
 * Handler of events from other systems.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { structuredOf } from "../../../src/delivery/IncomingEvent.ts"
import { publish } from "../../service/EventEffects.ts"
import { problemOf } from "../boundary/Problems.ts"

/**
 * Whether the event is in structured form, which has a content type of its own; other events have their attributes in headers.
 */
const isStructured = (type: string | undefined): boolean =>
  /^\s*application\/cloudevents\+json\s*(?:;|$)/i.test(type ?? "")

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "events">,
  never,
  Authentication | Validation | RequestBody
> = HttpApiBuilder.group(TroupeApi, "events", (handlers) =>
  handlers.handleAll({
    publish: Effect.fnUntraced(function* ({ payload }) {
      const by = yield* CurrentPrincipal
      const { headers } = yield* HttpServerRequest.HttpServerRequest
      const event = isStructured(headers["content-type"]) ? payload : structuredOf(headers, payload)
      const { conversation, isNew, task } = yield* publish
        .perform(Effect.succeed({ event }), by)
        .pipe(Effect.mapError((error) => problemOf(error)))
      return {
        received: isNew ? ("new" as const) : ("known" as const),
        ...(conversation === undefined ? undefined : { conversation_id: conversation }),
        ...(task === undefined ? undefined : { task_id: task })
      }
    })
  })
)
