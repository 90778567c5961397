/**
 * The endpoint that receives events of other systems, as CloudEvents 1.0 (HTTP binding, structured and binary mode).
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ConversationId, RunId } from "../value/Ids.ts"
import { Authentication, BodyTypes, Needs, RequestBody, Validation } from "./Boundary.ts"
import { Problem404, Problem409, Problem422, Problem429 } from "./Problem.ts"

const structured_type = "application/cloudevents+json"

const Published = Schema.Struct({
  /** `known` = the event was received before, and this request had no effect. */
  received: Schema.Literals(["new", "known"]),
  /** Present if the event became a message to an agent: its conversation and its task. */
  conversation_id: Schema.optionalKey(ConversationId),
  task_id: Schema.optionalKey(RunId)
})
/** What is known of an event once it is durable, as JSON has it. */
export type PublishedJson = typeof Published.Encoded

const publish = HttpApiEndpoint.post("publish", "/v1/events", {
  payload: [
    Schema.Json.annotate({ identifier: "CloudEvent" }).pipe(
      HttpApiSchema.asJson({ contentType: structured_type })
    ),
    Schema.Json.annotate({ identifier: "EventData" })
  ],
  success: Published.pipe(HttpApiSchema.status(202)),
  error: [Problem404, Problem409, Problem422, Problem429]
})
  .annotate(Needs, "publish")
  .annotate(BodyTypes, [structured_type, "application/json"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "Take an event (CloudEvents 1.0)",
      description:
        "Structured: the event as application/cloudevents+json. Binary: its data as application/json, its attributes as ce- headers. `id`, `source`, `type` and `time` are needed. The same source and id again does nothing more; with another content it is refused (409). Nothing is done about types that are not listed in the problem (422)."
    })
  )
  .middleware(RequestBody)

export class EventsApi extends HttpApiGroup.make("events")
  .add(publish)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Events" })) {}
