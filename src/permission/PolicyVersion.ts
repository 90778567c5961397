/**
 * The version of the policy in force. A decision about a call holds under the version that it was asked under, and no other.
 */
import { Context, Effect } from "effect"
import { canonical } from "../value/Canonical.ts"
import type { Policy } from "./Policy.ts"
import { no_policy } from "./Policy.ts"

/** Part of every approval digest: a changed policy requests approval again. */
export const PolicyVersion = Context.Reference<string>("troupe/PolicyVersion", {
  defaultValue: () => "1"
})

const encoder = new TextEncoder()

/**
 * The version that a policy declares, or a digest of its rules: a changed one requests approval again in any case. `sha256` gives
 * the digest of bytes in lower-case hex.
 */
export const policyVersionOf = Effect.fnUntraced(function* (
  sha256: (bytes: Uint8Array) => Effect.Effect<string>,
  policy: Policy
) {
  const release = yield* PolicyVersion
  if (policy === no_policy) return release
  const content = sha256(encoder.encode(canonical(policy)))
  return `${release}:${policy.version ?? (yield* content).slice(0, 16)}`
})
