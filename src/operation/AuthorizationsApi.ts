/**
 * The endpoints of a workspace's authorisations in advance. They are separate from approvals: neither endpoint shows the other's
 * records.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AuthorizationId } from "../value/Ids.ts"
import { AuthorizationRequest, WorkspaceAgentAuthorization } from "../permission/Authorization.ts"
import { rolesFor } from "../principal/Rights.ts"
import { Authentication, Needs, RequestBody, Validation } from "./Boundary.ts"
import { Limit } from "./Page.ts"
import { Problem404, Problem409 } from "./Problem.ts"

const list = HttpApiEndpoint.get("list", "/v1/authorizations", {
  query: {
    /** `true` = the list also contains authorisations that have expired, were revoked or are used up. */
    all: Schema.optionalKey(Schema.Literals(["true", "false"])),
    limit: Schema.optionalKey(Limit),
    /** The page begins after this authorisation. */
    after: Schema.optionalKey(AuthorizationId)
  },
  success: Schema.Struct({
    items: Schema.Array(WorkspaceAgentAuthorization),
    next_after: Schema.optionalKey(AuthorizationId)
  })
})
  .annotate(Needs, rolesFor("authorize"))
  .annotateMerge(OpenApi.annotations({ summary: "Actions authorised in advance, newest first" }))

const grant = HttpApiEndpoint.post("grant", "/v1/authorizations", {
  payload: AuthorizationRequest,
  success: WorkspaceAgentAuthorization.pipe(HttpApiSchema.status(201)),
  error: [Problem404, Problem409]
})
  .annotate(Needs, rolesFor("authorize"))
  .annotateMerge(
    OpenApi.annotations({
      summary: "Authorise an action in advance",
      description:
        "Calls of one tool by one agent run without a question in the caller's workspace, until it expires. For those who may decide about such a call. It takes the place of one that stood."
    })
  )
  .middleware(RequestBody)

const revoke = HttpApiEndpoint.post("revoke", "/v1/authorizations/:id/revoke", {
  params: { id: AuthorizationId },
  success: WorkspaceAgentAuthorization,
  error: Problem404
})
  .annotate(Needs, rolesFor("authorize"))
  .annotateMerge(
    OpenApi.annotations({
      summary: "Take an authorisation back",
      description: "From now on calls of the action ask a person again."
    })
  )

export class AuthorizationsApi extends HttpApiGroup.make("authorizations")
  .add(list, grant, revoke)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Authorisations" })) {}
