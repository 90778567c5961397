/** A policy that somebody sends, to be tried. */
import { Effect, Result, Schema } from "effect"
import { DeclaredRoles } from "../principal/Rights.ts"
import { InvalidInput } from "../schema/InvalidInput.ts"
import { CheckedJsonRecord } from "../value/JsonObject.ts"
import type { Policy } from "./Policy.ts"
import { decodedPolicy } from "./Policy.ts"
import { checkPolicy, checkPolicyRoles } from "./PolicyCheck.ts"

const units_max = 65_536

/** The policy as JSON: `{ mode, rules, servers, approval_required, default_deny }` of options, at most 65,536 characters. */
export const PolicyInput = CheckedJsonRecord.check(
  Schema.makeFilter(
    (given) =>
      JSON.stringify(given).length <= units_max ||
      `Expected a policy of at most ${units_max} characters of JSON`
  )
)

/** The policy. Fails where it could not be the policy of a start. */
export const readPolicy = Effect.fnUntraced(function* (
  given: typeof PolicyInput.Type
): Effect.fn.Return<Policy, InvalidInput> {
  const invalid = (reason: string) => new InvalidInput({ field: "policy", reason })
  // From JSON it may be anything.
  const read = decodedPolicy(given as unknown as Policy)
  if (Result.isFailure(read)) return yield* invalid(read.failure)
  yield* checkPolicy(read.success).pipe(
    Effect.andThen(checkPolicyRoles(read.success, yield* DeclaredRoles)),
    Effect.mapError(({ message }) => invalid(message))
  )
  return read.success
})
