/**
 * The tools of a service, what its policy says of them, and tools that others run. A service without MCP servers has none of which
 * anything could be accepted.
 */
import type { Schema } from "effect"
import { Effect, Option, Result } from "effect"
import { Digest } from "effect/crypto"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import { McpServers } from "../../services/McpServers.ts"
import { PermissionPolicy } from "../../services/PermissionPolicy.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import { providedSubjects } from "../../src/agent/ProviderTools.ts"
import { McpToolNotFound } from "../../src/mcp/McpPin.ts"
import * as ToolOperations from "../../src/operation/ToolOperations.ts"
import { mayBeAuthorized, policySubjectOf } from "../../src/permission/JudgedTool.ts"
import { decodedPolicy, permissionFor, warningsOf } from "../../src/permission/Policy.ts"
import { ineffectiveEntries } from "../../src/permission/PolicyCheck.ts"
import { policyVersionOf } from "../../src/permission/PolicyVersion.ts"
import { discoverOffers } from "../../src/queue/ToolOffer.ts"
import { isDispatched, onLossOf } from "../../src/tool/ToolSpec.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { serve } from "./Served.ts"

/** The policy as the gate has it, which was checked at the start. */
const policyInForce = Effect.map(PermissionPolicy, (given) =>
  Result.getOrElse(decodedPolicy(given), () => given)
)

export const list = serve(
  ToolOperations.list,
  Effect.fnUntraced(function* () {
    const policy = yield* policyInForce
    const agents = (yield* AgentDirectory).all
    const { all } = yield* ToolRegistry
    const view = (tool: (typeof all)[number]) => {
      const { available, key, provider = "internal", spec } = tool
      const permission = permissionFor(policy, policySubjectOf(tool))
      const { approval_expires_ms, idempotency } = spec
      return {
        name: spec.name,
        key,
        description: spec.description,
        provider,
        available: available?.() ?? true,
        deprecated: spec.deprecated,
        side_effects: spec.side_effects,
        category: spec.category,
        permission: typeof permission === "function" ? ("by_call" as const) : permission,
        approvers: spec.approvers,
        can_be_authorized:
          (permission === "ask" || typeof permission === "function") &&
          mayBeAuthorized(policy, tool),
        on_loss: isDispatched(spec) && !spec.transactional ? onLossOf(spec) : ("again" as const),
        timeout_ms: spec.timeout_ms,
        capabilities: spec.capabilities,
        input_schema: spec.input_schema as Schema.JsonObject,
        agents: agents
          .filter(({ tools }) => [...tools.values()].some((each) => each.key === key))
          .map(({ spec }) => spec.name),
        ...defined({ approval_expires_ms, idempotency: idempotency ?? undefined })
      }
    }
    return { items: all.map(view) }
  })
)

export const policy = serve(
  ToolOperations.policy,
  Effect.fnUntraced(function* () {
    const policy = yield* policyInForce
    const digest = yield* Digest.Digest
    const { all } = yield* ToolRegistry
    const provided = providedSubjects((yield* AgentDirectory).all)
    const ineffective = ineffectiveEntries(policy, all, provided).map(({ message }) => message)
    return {
      version: yield* policyVersionOf((bytes) => digest.digestHex(Digest.sha256, bytes), policy),
      policy,
      warnings: [...warningsOf(policy), ...ineffective]
    }
  })
)

export const workers = serve(ToolOperations.workers, () =>
  Effect.map(
    ToolQueue.use((queue) => queue.list()),
    (offers) => ({ items: discoverOffers(offers) })
  )
)

export const servers = serve(
  ToolOperations.servers,
  Effect.fnUntraced(function* () {
    const known = yield* Effect.serviceOption(McpServers)
    return { items: Option.isNone(known) ? [] : yield* known.value.status }
  })
)

export const accept = serve(
  ToolOperations.accept,
  Effect.fnUntraced(function* ({ hash, server, tool }, by) {
    const known = yield* Effect.serviceOption(McpServers)
    if (Option.isNone(known)) return yield* new McpToolNotFound({ server, tool })
    return yield* known.value.accept(server, tool, hash, by)
  })
)
