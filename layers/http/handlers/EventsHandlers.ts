/**
 * Handler of events from other systems.
 */
import { Effect, Option } from "effect"
import type { Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { EventIntake } from "../../../services/EventIntake.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { readEvent, structuredOf } from "../../../src/delivery/IncomingEvent.ts"
import { problemOf } from "../boundary/Problems.ts"

const noIntake = makeProblem(
  404,
  "no-event-intake",
  "Nobody takes events here",
  "This service has no agent that is told of events."
)

/**
 * Whether the event is in structured form, which has a content type of its own; other events have their attributes in headers.
 */
const isStructured = (type: string | undefined): boolean =>
  /^\s*application\/cloudevents\+json\s*(?:;|$)/i.test(type ?? "")

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "events">,
  never,
  Authentication | Validation | RequestBody
> = HttpApiBuilder.group(
  TroupeApi,
  "events",
  Effect.fnUntraced(function* (handlers) {
    const intake = yield* Effect.serviceOption(EventIntake)

    return handlers.handleAll({
      publish: Effect.fnUntraced(function* ({ payload }) {
        const by = yield* CurrentPrincipal
        if (Option.isNone(intake)) return yield* Effect.fail(noIntake)
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        const given = isStructured(headers["content-type"])
          ? payload
          : structuredOf(headers, payload)
        const received = yield* readEvent(given).pipe(
          Effect.flatMap((event) => intake.value.publish(event, by)),
          Effect.mapError((error) => problemOf(error))
        )
        return {
          received: received.isNew ? ("new" as const) : ("known" as const),
          ...(received.conversation === undefined
            ? undefined
            : { conversation_id: received.conversation }),
          ...(received.task === undefined ? undefined : { task_id: received.task })
        }
      })
    })
  })
)
