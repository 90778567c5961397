/**
 * The endpoints for operators to read drafts of rubrics and system cards in their tenant, and to publish or withdraw one without
 * an agent. If the service keeps no records of workspaces, each endpoint answers 404.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Draft, DraftId, DraftKind, DraftReason, DraftStatus } from "../platform/contracts/Draft.ts"
import { Version } from "../platform/contracts/Fact.ts"
import { RecordId } from "../platform/contracts/RecordId.ts"
import { Authentication, Needs, RequestBody, Validation } from "./Boundary.ts"
import { Limit } from "./Page.ts"
import { Problem404, Problem409 } from "./Problem.ts"

const needs = "author" as const

const list = HttpApiEndpoint.get("list", "/v1/drafts", {
  query: {
    kind: Schema.optionalKey(DraftKind),
    status: Schema.optionalKey(DraftStatus),
    limit: Schema.optionalKey(Limit),
    /** The page begins after this draft, with older ones. */
    after: Schema.optionalKey(DraftId)
  },
  success: Schema.Struct({
    items: Schema.Array(Draft),
    /** The `after` of the next page; absent = this is the last. */
    next_after: Schema.optionalKey(DraftId)
  }),
  error: Problem404
})
  .annotate(Needs, needs)
  .annotateMerge(
    OpenApi.annotations({ summary: "Drafts of rubrics and system cards, newest first" })
  )

const params = { draft_id: DraftId }

const get = HttpApiEndpoint.get("get", "/v1/drafts/:draft_id", {
  params,
  success: Draft,
  error: Problem404
})
  .annotate(Needs, needs)
  .annotateMerge(
    OpenApi.annotations({ summary: "A draft with all that it says, and what became of it" })
  )

const publish = HttpApiEndpoint.post("publish", "/v1/drafts/:draft_id/publish", {
  params,
  payload: Schema.Struct({
    /** The rubric or system that the draft changes, and the revision on which it is based, as the operator read them. */
    target_id: RecordId,
    based_on: Version,
    reason: DraftReason
  }),
  success: Draft,
  error: [Problem404, Problem409]
})
  .annotate(Needs, needs)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Publish a draft, once",
      description:
        "Its rubric or card takes the place of what it is based on, which is how the draft was read: 409 where the draft is of another target or revision, is closed, or where its target has changed since."
    })
  )
  .middleware(RequestBody)

const withdraw = HttpApiEndpoint.post("withdraw", "/v1/drafts/:draft_id/withdraw", {
  params,
  payload: Schema.Struct({ reason: DraftReason }),
  success: Draft,
  error: [Problem404, Problem409]
})
  .annotate(Needs, needs)
  .annotateMerge(
    OpenApi.annotations({ summary: "Withdraw a draft that waits: it can be published no more" })
  )
  .middleware(RequestBody)

export class DraftsApi extends HttpApiGroup.make("drafts")
  .add(list, get, publish, withdraw)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Drafts" })) {}
