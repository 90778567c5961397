/**
 * The operations with which admins manage the access tokens of their tenant.
 */
import { Schema } from "effect"
import { TokenId } from "../value/Ids.ts"
import { AccessToken, IssuedToken, TokenRequest } from "../permission/AccessToken.ts"
import { operation } from "./Operation.ts"
import { Limit } from "./Page.ts"

export const list = operation({
  id: "list",
  name: "tokens",
  method: "GET",
  path: "/v1/tokens",
  query: Schema.Struct({
    limit: Schema.optionalKey(Limit),
    /** The page begins after this token. */
    after: Schema.optionalKey(TokenId)
  }),
  success: Schema.Struct({
    items: Schema.Array(AccessToken),
    next_after: Schema.optionalKey(TokenId)
  }),
  right: "issueTokens",
  gives: "items",
  summary: "Tokens of the tenant, newest first",
  description: "Also those that have expired or were revoked. `last_used_at` is to the minute."
})

export const create = operation({
  id: "create",
  name: "createToken",
  method: "POST",
  path: "/v1/tokens",
  payload: TokenRequest,
  success: IssuedToken,
  status: 201,
  problems: [409],
  right: "issueTokens",
  summary: "Make a token",
  description:
    "For the caller or the named principal, in the caller's tenant. The answer is the only place that shows its text. It expires no later than the stored token that made it."
})

export const revoke = operation({
  id: "revoke",
  name: "revokeToken",
  method: "DELETE",
  path: "/v1/tokens/:id",
  params: Schema.Struct({ id: TokenId }),
  success: AccessToken,
  problems: [404],
  right: "issueTokens",
  args: ["id"],
  summary: "Revoke a token",
  description:
    "No process takes it for a request that begins after the answer. Event streams that are open end at their next heartbeat."
})
