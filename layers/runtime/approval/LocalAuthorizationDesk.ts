/**
 * Grants, revokes and lists what workspaces authorise in advance, by the tools and the policy of this process. Who may decide
 * about a call may authorise such calls, see that they are authorised and revoke it, and nobody else.
 */
import { Clock, Effect, Layer, Schema } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { AgentNotFound } from "../../../src/agent/AgentSpec.ts"
import type { NotEntitled } from "../../../src/principal/NotEntitled.ts"
import { customerAuthorization } from "../../../src/conversation/CustomerView.ts"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import { inputReader } from "../../../src/schema/InvalidInput.ts"
import type { AgentName } from "../../../src/value/Ids.ts"
import { AuthorizationId } from "../../../src/value/Ids.ts"
import type { WorkspaceAgentAuthorization } from "../../../src/permission/Authorization.ts"
import {
  AuthorizationNotFound,
  AuthorizationRefused,
  AuthorizationRequest
} from "../../../src/permission/Authorization.ts"
import type { Policy } from "../../../src/permission/Policy.ts"
import { permissionFor } from "../../../src/permission/Policy.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { principalHasRole } from "../../../src/principal/Principal.ts"
import { approverRefusal, isLimitedToNamed, isLimitedToOwn } from "../../../src/principal/Rights.ts"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { AuthorizationDesk } from "../../../services/AuthorizationDesk.ts"
import { AuthorizationRecords } from "../../../services/AuthorizationRecords.ts"
import { PermissionPolicy } from "../../../services/PermissionPolicy.ts"
import { toolDigest } from "../tool/CallDigests.ts"
import type { AgentTool } from "../tool/CallHost.ts"
import { mayBeAuthorized, policySubjectOf } from "../../../src/permission/JudgedTool.ts"

const readRequest = inputReader(AuthorizationRequest)
const readId = inputReader(AuthorizationId)
const readPage = inputReader(
  Schema.Struct({
    limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 })),
    all: Schema.optionalKey(Schema.Boolean),
    after: Schema.optionalKey(AuthorizationId)
  })
)

/** Why calls of the tool cannot be authorised in advance; undefined = they can. */
const refusalOf = (policy: Policy, tool: AgentTool): string | undefined => {
  const permission = permissionFor(policy, policySubjectOf(tool))
  if (permission === "deny") return "its calls are denied"
  if (permission === "allow") return "nobody is asked about it"
  return mayBeAuthorized(policy, tool) ? undefined : "a person is asked about each of its calls"
}

/**
 * The keys of the tools that name a role of the principal among their approvers, in an agent that it may know of. Undefined =
 * the principal may decide about every tool. Fails if it is named by none: then it may not even know what is authorised.
 */
const namedBy = (
  directory: AgentDirectory["Service"],
  by: Principal,
  known: ReadonlyArray<AgentName> | undefined
): Effect.Effect<ReadonlyArray<string> | undefined, NotEntitled> => {
  if (!isLimitedToNamed(by, "authorize")) return Effect.undefined
  const keys = directory.all
    .filter(({ spec }) => isKnown(known, spec.name))
    .flatMap(({ tools }) => [...tools.values()])
    .filter(({ spec: { approvers } }) => approvers.length > 0 && principalHasRole(by, approvers))
    .map(({ key }) => key)
  const refusal = keys.length === 0 ? approverRefusal(by, "authorize", []) : undefined
  return refusal === undefined ? Effect.succeed([...new Set(keys)]) : Effect.fail(refusal)
}

/** An authorisation as the principal may see it. */
const seenBy = (given: WorkspaceAgentAuthorization, by: Principal): WorkspaceAgentAuthorization =>
  isLimitedToOwn(by, "follow") ? customerAuthorization(given, by) : given

const isKnown = (known: ReadonlyArray<AgentName> | undefined, agent: AgentName): boolean =>
  known === undefined || known.includes(agent)

interface Services {
  readonly records: AuthorizationRecords["Service"]
  readonly directory: AgentDirectory["Service"]
  readonly policy: Policy
  readonly digest: Digest.Digest["Service"]
  readonly random: SecureRandom.SecureRandom["Service"]
  readonly clock: Clock.Clock
}

const grant = Effect.fnUntraced(function* (
  { clock, digest, directory, policy, random, records }: Services,
  { action, agent, holds_ms, uses_max }: AuthorizationRequest,
  by: Principal,
  known: ReadonlyArray<AgentName> | undefined
) {
  const found = isKnown(known, agent) ? directory.get(agent) : undefined
  if (found === undefined) {
    const available = known ?? directory.all.map(({ spec }) => spec.name)
    return yield* new AgentNotFound({ agent, available })
  }
  const refused = (reason: string) => new AuthorizationRefused({ agent, action, reason })
  const tool = found.tools.get(action)
  if (tool === undefined) return yield* refused("the agent has no such tool")
  const refusal = approverRefusal(by, "authorize", tool.spec.approvers)
  if (refusal !== undefined) return yield* refusal
  const reason = refusalOf(policy, tool)
  if (reason !== undefined) return yield* refused(reason)
  const granted_at = clock.currentTimeMillisUnsafe()
  const given: WorkspaceAgentAuthorization = {
    id: AuthorizationId.make(yield* random.uuidV4()),
    tenant: by.tenant,
    agent,
    action,
    tool_key: tool.key,
    tool_digest: yield* toolDigest(digest, tool.spec),
    granted_by: by.id,
    granted_at,
    expires_at: granted_at + holds_ms,
    ...(uses_max === undefined ? undefined : { uses_max }),
    uses: 0
  }
  yield* records.add(given)
  return given
})

const logged = (
  what: string,
  { action, agent, id, tenant }: WorkspaceAgentAuthorization,
  by: string
) => Effect.annotateLogs(Effect.logInfo(what), { authorization: id, tenant, agent, action, by })

const make = Effect.gen(function* () {
  const services: Services = {
    records: yield* AuthorizationRecords,
    directory: yield* AgentDirectory,
    policy: yield* PermissionPolicy,
    digest: yield* Digest.Digest,
    random: yield* SecureRandom.SecureRandom,
    clock: yield* Clock.Clock
  }
  const { clock, directory, records } = services
  return AuthorizationDesk.of({
    grant: Effect.fn("AuthorizationDesk.grant")(function* (request, who, known) {
      const by = yield* Entries.entitled(who, "authorize")
      const given = yield* grant(services, yield* readRequest(request, "request"), by, known)
      yield* logged("an action of an agent is authorised in advance", given, by.id)
      return given
    }),
    revoke: Effect.fn("AuthorizationDesk.revoke")(function* (id, who, known) {
      const by = yield* Entries.entitled(who, "authorize")
      const which = yield* readId(id, "id")
      const named = yield* namedBy(directory, by, known)
      const found = yield* records.get(by.tenant, which)
      const isSeen = named === undefined || named.includes(found.tool_key)
      if (!isSeen || !isKnown(known, found.agent)) {
        return yield* new AuthorizationNotFound({ id: which })
      }
      const revoked = yield* records.revoke(
        by.tenant,
        which,
        by.id,
        clock.currentTimeMillisUnsafe()
      )
      yield* logged("an authorisation is revoked", revoked, by.id)
      return seenBy(revoked, by)
    }),
    list: Effect.fn("AuthorizationDesk.list")(function* (page, who, known) {
      const by = yield* Entries.entitled(who, "authorize")
      const { after, all, limit } = yield* readPage(page, "page")
      const found = yield* records.list({
        tenant: by.tenant,
        agents: known,
        tool_keys: yield* namedBy(directory, by, known),
        in_force_at: all === true ? undefined : clock.currentTimeMillisUnsafe(),
        limit,
        after
      })
      return found.map((each) => seenBy(each, by))
    })
  })
})

export const layer: Layer.Layer<
  AuthorizationDesk,
  never,
  AgentDirectory | AuthorizationRecords | Digest.Digest | SecureRandom.SecureRandom
> = Layer.effect(AuthorizationDesk, make)
