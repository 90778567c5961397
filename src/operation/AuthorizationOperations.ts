/**
 * The operations on a workspace's authorisations in advance. They are separate from approvals: neither shows the other's records.
 */
import { Schema } from "effect"
import { AuthorizationId } from "../value/Ids.ts"
import { AuthorizationRequest, WorkspaceAgentAuthorization } from "../permission/Authorization.ts"
import { operation } from "./Operation.ts"
import { Limit } from "./Page.ts"

export const list = operation({
  id: "list",
  name: "authorizations",
  method: "GET",
  path: "/v1/authorizations",
  query: Schema.Struct({
    /** `true` = the list also contains authorisations that have expired, were revoked or are used up. */
    all: Schema.optionalKey(Schema.Boolean),
    limit: Schema.optionalKey(Limit),
    /** The page begins after this authorisation. */
    after: Schema.optionalKey(AuthorizationId)
  }),
  success: Schema.Struct({
    items: Schema.Array(WorkspaceAgentAuthorization),
    next_after: Schema.optionalKey(AuthorizationId)
  }),
  right: "authorize",
  gives: "items",
  summary: "Actions authorised in advance, newest first"
})

export const grant = operation({
  id: "grant",
  name: "authorize",
  method: "POST",
  path: "/v1/authorizations",
  payload: AuthorizationRequest,
  success: WorkspaceAgentAuthorization,
  status: 201,
  problems: [404, 409],
  right: "authorize",
  summary: "Authorise an action in advance",
  description:
    "Calls of one tool by one agent run without a question in the caller's workspace, until it expires. For those who may decide about such a call. It takes the place of one that stood."
})

export const revoke = operation({
  id: "revoke",
  name: "revokeAuthorization",
  method: "POST",
  path: "/v1/authorizations/:id/revoke",
  params: Schema.Struct({ id: AuthorizationId }),
  success: WorkspaceAgentAuthorization,
  problems: [404],
  right: "authorize",
  args: ["id"],
  summary: "Take an authorisation back",
  description: "From now on calls of the action ask a person again."
})
