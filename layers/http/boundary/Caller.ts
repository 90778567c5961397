/** For whom a request is: the principal of its token, or the user whom that one acts for. */
import { Effect, Result } from "effect"
import type { Redacted } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Credentials } from "../../../services/Credentials.ts"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import type { Problem } from "../../../src/operation/Problem.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { namedUser, on_behalf_of } from "../../../src/principal/OnBehalfOf.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { DeclaredRoles, mayActFor } from "../../../src/principal/Rights.ts"
import { Limits } from "./Limits.ts"
import { forbidden, problemOf } from "./Problems.ts"

const badUser = makeProblem(
  400,
  "bad-on-behalf-of",
  "It does not say for whom",
  "On-Behalf-Of is one id, percent-encoded, and may have roles: `anna; roles=approver viewer`."
)
export const notForOthers = forbidden("This token does nothing for somebody else.")

/** The principal that a request is for: the token's own, or the user whom the request names and for whom the token's may act. */
const actingOf = (
  request: HttpServerRequest.HttpServerRequest,
  owner: Principal,
  declared: DeclaredRoles
): Effect.Effect<Principal, Problem<400> | Problem<403>> => {
  const header = request.headers[on_behalf_of]
  if (header === undefined && owner.via === undefined) return Effect.succeed(owner)
  let acting: unknown = owner
  if (header !== undefined) {
    if (owner.via !== undefined || !mayActFor(owner)) return Effect.fail(notForOthers)
    const user = namedUser(header)
    if (user === undefined) return Effect.fail(badUser)
    const { id, roles, tenant } = owner
    acting = { ...user, tenant, via: { id, tenant, roles } }
  }
  return Entries.principal(acting, on_behalf_of).pipe(
    Effect.provideService(DeclaredRoles, declared),
    Effect.mapError((error) => problemOf(error))
  )
}

/** Finds the caller of a request by its token, and counts the request. Fails with 401, 403, 429, and 503 where no store answers. */
export const makeCaller = Effect.gen(function* () {
  const credentials = yield* Credentials
  const limits = yield* Limits
  const declared = yield* DeclaredRoles
  return Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    token: Redacted.Redacted
  ) {
    const owner = yield* Effect.mapError(credentials.verify(token), problemOf)
    const acting = yield* Effect.result(actingOf(request, owner, declared))
    const principal = Result.getOrElse(acting, () => owner)
    yield* limits.request(principal)
    return yield* Effect.fromResult(Result.map(acting, () => principal))
  })
})
