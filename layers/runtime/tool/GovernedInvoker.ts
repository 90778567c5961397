/**
 * The gate of one runtime: its policy, its kill switch and the limits of its agents' tools, put together once. A policy that
 * cannot be right ends the start. Rules that are dangerous or match no tool, and tools that can never run, are logged.
 */
import { Clock, Effect, Option, Result } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import type { AuthorizedAction } from "../../../src/permission/Authorization.ts"
import { authorizedBy } from "../../../src/permission/Authorization.ts"
import type { Policy } from "../../../src/permission/Policy.ts"
import { warningsOf, decodedPolicy } from "../../../src/permission/Policy.ts"
import { providedSubjects } from "../../../src/agent/ProviderTools.ts"
import {
  checkPolicy,
  checkPolicyRoles,
  MisdeclaredPolicy,
  ineffectiveEntries
} from "../../../src/permission/PolicyCheck.ts"
import { DeclaredRoles } from "../../../src/principal/Rights.ts"
import { AgentDirectory, CustomerAgents } from "../../../services/AgentDirectory.ts"
import { AuthorizationRecords } from "../../../services/AuthorizationRecords.ts"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import { IdempotencyKeys } from "../../../services/IdempotencyKeys.ts"
import { KillSwitch } from "../../../services/KillSwitch.ts"
import { PermissionPolicy } from "../../../services/PermissionPolicy.ts"
import { policyVersionOf } from "../../../src/permission/PolicyVersion.ts"
import { PriceBook } from "../../../services/PriceBook.ts"
import { RunReader } from "../../../services/RunReader.ts"
import { ToolAttemptObservers } from "../../../services/RunObserver.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"
import type { Deadlines } from "./Deadlines.ts"
import * as HeldKeys from "./HeldKeys.ts"
import * as ProviderToolGate from "./ProviderToolGate.ts"
import { capabilityWarnings } from "./ToolGate.ts"
import * as ToolGuards from "./ToolGuards.ts"
import { makeHandoffRefusal } from "./UnresolvedCall.ts"
import * as ToolInvoker from "./ToolInvoker.ts"

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

/** The same; fails also for a role that there is not, and logs each rule, at error level where it was to deny, that matches none of the registry's tools and none that the agents' providers run. */
export const validatePolicyFor = Effect.fnUntraced(function* (
  given: Policy,
  { all }: ToolRegistry["Service"],
  directory: AgentDirectory["Service"]
): Effect.fn.Return<Policy, MisdeclaredPolicy> {
  const policy = yield* validatePolicy(given)
  yield* checkPolicyRoles(policy, yield* DeclaredRoles)
  const provided = providedSubjects(directory.all)
  for (const { message, permission } of ineffectiveEntries(policy, all, provided)) {
    yield* permission === "deny" ? Effect.logError(message) : Effect.logWarning(message)
  }
  return policy
})

/** Limits and circuits live as long as the scope. Fails where the policy cannot be right. */
export const make = Effect.fnUntraced(function* (deadlines: Deadlines) {
  const directory = yield* AgentDirectory
  const digest = yield* Digest.Digest
  const registry = yield* ToolRegistry
  const killSwitch = Option.getOrUndefined(yield* Effect.serviceOption(KillSwitch))
  const authorizations = Option.getOrUndefined(yield* Effect.serviceOption(AuthorizationRecords))
  const clock = yield* Clock.Clock
  const policy = yield* validatePolicyFor(yield* PermissionPolicy, registry, directory)
  const policy_version = yield* policyVersionOf(
    (bytes) => digest.digestHex(Digest.sha256, bytes),
    policy
  )
  for (const warning of [...warningsOf(policy), ...capabilityWarnings(directory.all, policy)]) {
    yield* Effect.logWarning(warning)
  }
  const services: ToolInvoker.Services = {
    registry,
    digest,
    random: yield* SecureRandom.SecureRandom,
    clock,
    deadlines,
    policy,
    policy_version,
    prices: yield* PriceBook,
    held: HeldKeys.make({
      keys: yield* IdempotencyKeys,
      reader: yield* RunReader,
      digest,
      clock
    }),
    guards: yield* ToolGuards.make(directory.all.flatMap(({ tools }) => [...tools.values()])),
    attempted: yield* ToolAttemptObservers,
    agentOf: (name) => directory.get(name),
    handoffRefusal: makeHandoffRefusal(
      Option.getOrUndefined(yield* Effect.serviceOption(ConversationStore)),
      yield* CustomerAgents
    ),
    ...(authorizations === undefined
      ? undefined
      : {
          authorize: (action: AuthorizedAction) =>
            Effect.map(authorizations.use(action, clock.currentTimeMillisUnsafe()), (used) =>
              used === undefined ? undefined : authorizedBy(used)
            )
        }),
    ...(killSwitch === undefined ? undefined : { killSwitch })
  }
  const providerTools = yield* ProviderToolGate.make(policy, directory, killSwitch)
  // The version is part of every approval digest.
  return { services, invoker: ToolInvoker.make(services), providerTools, policy_version }
})
