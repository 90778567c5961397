/**
 * The endpoints for admins to manage the access tokens of their tenant.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { TokenId } from "../value/Ids.ts"
import { AccessToken, TokenRequest } from "../permission/AccessToken.ts"
import { Authentication, Needs, RequestBody, Validation } from "./Boundary.ts"
import { Limit } from "./Page.ts"
import { Problem404, Problem409 } from "./Problem.ts"

const list = HttpApiEndpoint.get("list", "/v1/tokens", {
  query: {
    limit: Schema.optionalKey(Limit),
    /** The page begins after this token. */
    after: Schema.optionalKey(TokenId)
  },
  success: Schema.Struct({
    items: Schema.Array(AccessToken),
    next_after: Schema.optionalKey(TokenId)
  })
})
  .annotate(Needs, ["admin"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "Tokens of the tenant, newest first",
      description: "Also those that have expired or were revoked. `last_used_at` is to the minute."
    })
  )

const create = HttpApiEndpoint.post("create", "/v1/tokens", {
  payload: TokenRequest,
  success: Schema.Struct({
    /** The token's text. Only this answer ever contains it. */
    token: Schema.String,
    ...AccessToken.fields
  }).pipe(HttpApiSchema.status(201)),
  error: Problem409
})
  .annotate(Needs, ["admin"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "Make a token",
      description:
        "For the caller or the named principal, in the caller's tenant. The answer is the only place that shows its text. It expires no later than the stored token that made it."
    })
  )
  .middleware(RequestBody)

const revoke = HttpApiEndpoint.delete("revoke", "/v1/tokens/:id", {
  params: { id: TokenId },
  success: AccessToken,
  error: Problem404
})
  .annotate(Needs, ["admin"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "Revoke a token",
      description:
        "No process takes it for a request that begins after the answer. Event streams that are open end at their next heartbeat."
    })
  )

export class TokensApi extends HttpApiGroup.make("tokens")
  .add(list, create, revoke)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Tokens" })) {}
