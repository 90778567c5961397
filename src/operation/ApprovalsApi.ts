/**
 * The endpoints of approvals and of decisions on them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Approval, ApprovalStatus } from "../approval/Approval.ts"
import { DecisionPayload } from "../approval/DecisionPayload.ts"
import { ApprovalId, RunId } from "../value/Ids.ts"
import { UnknownCall } from "../run/UnknownCall.ts"
import { rolesFor } from "../principal/Rights.ts"
import { Authentication, Needs, RequestBody, Validation } from "./Boundary.ts"
import { Limit } from "./Page.ts"
import { Problem404, Problem409, Problem410 } from "./Problem.ts"

const params = { id: ApprovalId }

const list = HttpApiEndpoint.get("list", "/v1/approvals", {
  query: {
    /** Absent = `pending`. */
    status: Schema.optionalKey(ApprovalStatus),
    run_id: Schema.optionalKey(RunId),
    limit: Schema.optionalKey(Limit),
    /** The page begins after this approval. */
    after: Schema.optionalKey(ApprovalId)
  },
  success: Schema.Struct({
    items: Schema.Array(Approval),
    next_after: Schema.optionalKey(ApprovalId),
    /** Calls with an unknown outcome, which an operator has to settle: oldest first, at most 100. Absent = none. */
    unknown_calls: Schema.optionalKey(Schema.Array(UnknownCall))
  })
}).annotateMerge(OpenApi.annotations({ summary: "Approvals, oldest first" }))

const get = HttpApiEndpoint.get("get", "/v1/approvals/:id", {
  params,
  success: Approval,
  error: Problem404
}).annotateMerge(OpenApi.annotations({ summary: "An approval" }))

const decide = HttpApiEndpoint.post("decide", "/v1/approvals/:id/decision", {
  params,
  payload: DecisionPayload,
  success: Approval,
  error: [Problem404, Problem409, Problem410]
})
  .annotate(Needs, rolesFor("decide"))
  .annotateMerge(
    OpenApi.annotations({
      summary: "Decide",
      description:
        "Of several decisions one wins; the others are told so (409). A question that waited too long is gone (410)."
    })
  )
  .middleware(RequestBody)

export class ApprovalsApi extends HttpApiGroup.make("approvals")
  .add(list, get, decide)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Approvals" })) {}
