/**
 * Validates a policy before calls are judged by it: one that cannot be right ends the start, and rules that match no tool are
 * logged, at error level where they were to deny.
 */
import { Effect, Result } from "effect"
import { providerToolsOf, providerToolSubject } from "../../../src/agent/ProviderTools.ts"
import type { Policy } from "../../../src/permission/Policy.ts"
import { decodedPolicy } from "../../../src/permission/Policy.ts"
import {
  checkPolicy,
  MisdeclaredPolicy,
  ineffectiveEntries
} from "../../../src/permission/PolicyCheck.ts"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { ToolRegistry } from "../../../services/ToolRegistry.ts"

/** The decoded policy. Fails where it cannot be decoded, and where a rule can match nothing. */
export const validatePolicy = Effect.fnUntraced(function* (
  given: Policy
): Effect.fn.Return<Policy, MisdeclaredPolicy> {
  const read = decodedPolicy(given)
  if (Result.isFailure(read)) {
    return yield* new MisdeclaredPolicy({ field: "policy", message: `policy: ${read.failure}` })
  }
  yield* checkPolicy(read.success)
  return read.success
})

/** The same, and logs each rule that matches none of the registry's tools and none that the agents' providers run. */
export const validatePolicyFor = Effect.fnUntraced(function* (
  given: Policy,
  { all }: ToolRegistry["Service"],
  directory: AgentDirectory["Service"]
): Effect.fn.Return<Policy, MisdeclaredPolicy> {
  const policy = yield* validatePolicy(given)
  const provided = directory.all.flatMap(({ spec }) =>
    providerToolsOf(spec.provider_tools ?? []).map(providerToolSubject)
  )
  for (const { message, permission } of ineffectiveEntries(policy, all, provided)) {
    yield* permission === "deny" ? Effect.logError(message) : Effect.logWarning(message)
  }
  return policy
})
