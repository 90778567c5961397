/**
 * The middleware of every endpoint, as the API declares it: authentication, validation, and reading of bodies. `layers/http`
 * implements it.
 */
import { Context } from "effect"
import type { Redacted } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import type { Principal } from "../principal/Principal.ts"
import type { AnyRight } from "../principal/Rights.ts"
import {
  Problem400,
  Problem401,
  Problem403,
  Problem413,
  Problem415,
  Problem429,
  Problem500,
  Problem503
} from "./Problem.ts"

/** The principal that sent the request. */
export class CurrentPrincipal extends Context.Service<CurrentPrincipal, Principal>()(
  "troupe/api/CurrentPrincipal"
) {}

/**
 * The bearer token by which the principal was found. It is the parsed token, because a header may write the same token in more
 * than one way.
 */
export class CurrentToken extends Context.Service<CurrentToken, Redacted.Redacted>()(
  "troupe/api/CurrentToken"
) {}

/** An endpoint's annotation: the right that its caller needs. */
export const Needs: Context.Reference<AnyRight> = Context.Reference<AnyRight>("troupe/api/Needs", {
  defaultValue: () => "inspect"
})

/** An endpoint's annotation: the media types that its body may have. */
export const BodyTypes: Context.Reference<ReadonlyArray<string>> = Context.Reference<
  ReadonlyArray<string>
>("troupe/api/BodyTypes", { defaultValue: () => ["application/json"] })

/**
 * Authenticates by a bearer token. Answers 401 without a valid token, 403 without a role that the endpoint needs, 429 beyond the
 * rate limit, and 503 while the store is not available.
 */
export class Authentication extends HttpApiMiddleware.Service<
  Authentication,
  { provides: CurrentPrincipal | CurrentToken }
>()("troupe/api/Authentication", {
  security: { bearer: HttpApiSecurity.bearer },
  error: [Problem400, Problem401, Problem403, Problem429, Problem503]
}) {}

/** Answers a request that does not fit its schema with a problem that lists the wrong paths. */
export class Validation extends HttpApiMiddleware.Service<Validation>()("troupe/api/Validation", {
  error: [Problem400, Problem500, Problem503]
}) {}

/** Reads a body within its bound: JSON in UTF-8, of the media types of `BodyTypes`, and nothing else. */
export class RequestBody extends HttpApiMiddleware.Service<
  RequestBody,
  { requires: CurrentPrincipal }
>()("troupe/api/RequestBody", { error: [Problem400, Problem413, Problem415, Problem503] }) {}
