/**
 * The tools of a service, what its policy says of them, and tools that others run. A service without MCP servers has none of which
 * anything could be accepted.
 */
import type { Schema } from "effect"
import { Clock, Effect, Option, Result } from "effect"
import { Digest } from "effect/crypto"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import type { CallTiming } from "../../services/CallRecords.ts"
import { CallRecords } from "../../services/CallRecords.ts"
import { McpServers } from "../../services/McpServers.ts"
import { PermissionPolicy } from "../../services/PermissionPolicy.ts"
import { RunList } from "../../services/RunList.ts"
import { entriesWithin, RunReader } from "../../services/RunReader.ts"
import type { StoreError } from "../../services/StoreError.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import { providedSubjects } from "../../src/agent/ProviderTools.ts"
import { McpToolNotFound } from "../../src/mcp/McpPin.ts"
import * as ToolOperations from "../../src/operation/ToolOperations.ts"
import { mayBeAuthorized, policySubjectOf } from "../../src/permission/JudgedTool.ts"
import { readPolicy } from "../../src/permission/PolicyInput.ts"
import { decodedPolicy, permissionFor, warningsOf } from "../../src/permission/Policy.ts"
import { ineffectiveEntries } from "../../src/permission/PolicyCheck.ts"
import { policyVersionOf } from "../../src/permission/PolicyVersion.ts"
import { judgeBy, PolicyDryRun } from "../../src/replay/PolicyDryRun.ts"
import { isErased } from "../../src/replay/Erased.ts"
import { recordingOf } from "../../src/replay/Recording.ts"
import type { RunItem } from "../../src/run/RunItem.ts"
import { limit_default } from "../../src/operation/Page.ts"
import { discoverOffers } from "../../src/queue/ToolOffer.ts"
import type { EndedAs } from "../../src/tool/CallRecord.ts"
import { dayOf } from "../../src/value/Times.ts"
import { isDispatched, onLossOf } from "../../src/tool/ToolSpec.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import { boundedPage } from "../../src/value/Pages.ts"
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

/** The most that the events of one run may have, in UTF-16 units. */
const run_units_max = 2_000_000

/** The changed calls of one answer. */
const changes_max = 200

/** The recording of a run of the tenant; undefined where it cannot be read. */
const recordingFor = Effect.fnUntraced(function* (tenant: Tenant, id: RunId) {
  const reader = yield* RunReader
  const { entries, units } = yield* Effect.catchTag(
    entriesWithin(
      { read: (run, from, limit) => reader.readFor(tenant, run, from, limit) },
      id,
      run_units_max
    ),
    "RunQuarantined",
    () => Effect.succeed({ entries: [], units: 0 })
  )
  const recording = units > run_units_max ? undefined : recordingOf(entries)
  return isErased(recording?.accepted.message) ? undefined : recording
})

export const tryPolicy = serve(
  ToolOperations.tryPolicy,
  Effect.fnUntraced(function* (
    { after, limit = limit_default, policy: given, ...filters },
    { tenant }
  ) {
    const policy = yield* given === undefined ? policyInForce : readPolicy(given)
    const directory = yield* AgentDirectory
    const list = yield* RunList
    const page = yield* boundedPage<RunItem, StoreError>(limit, (last, limit) =>
      list.list({ ...filters, tenant, limit, after: last?.id ?? after })
    )
    const trial = new PolicyDryRun(
      judgeBy(policy, (agent, name) => directory.get(agent)?.tools.get(name))
    )
    const left_out: Array<RunId> = []
    for (const { id, status } of page.items) {
      const recording = yield* recordingFor(tenant, id)
      if (recording !== undefined && recording.accepted.forked === undefined) {
        trial.add(id, recording)
        // A run that has not begun has no events, and no calls either.
      } else if (recording === undefined && status !== "pending") left_out.push(id)
    }
    const { list: changes, quarantined: _none, left_off: _more, tools, ...counts } = trial.result
    return {
      ...counts,
      items: tools,
      changes: changes.slice(0, changes_max).map(({ agent, call, now, run, tool, was }) => ({
        run_id: run,
        call,
        agent,
        tool,
        was,
        now
      })),
      left_out,
      ...defined({ next_after: page.last?.id })
    }
  })
)

const day_ms = 86_400_000
/** The calls of one look. */
const timings_max = 2_000

/** The time that this share of the calls did not exceed. */
const within = (timings: ReadonlyArray<CallTiming>, share: number): number | undefined => {
  const sorted = timings.toSorted((a, b) => a.took_ms - b.took_ms)
  let left = Math.ceil(sorted.reduce((sum, { count }) => sum + count, 0) * share)
  return sorted.find(({ count }) => (left -= count) <= 0)?.took_ms
}

const sumOf = (timings: ReadonlyArray<CallTiming>, ended_as?: EndedAs): number =>
  timings.reduce(
    (sum, each) => sum + (ended_as === undefined || each.ended_as === ended_as ? each.count : 0),
    0
  )

export const times = serve(
  ToolOperations.times,
  Effect.fnUntraced(function* ({ by = "tool", from }, { tenant }) {
    const since = from ?? (yield* Clock.currentTimeMillis) - day_ms
    const found = yield* CallRecords.use((records) => records.timings(tenant, since, timings_max))
    const groups = Map.groupBy(found, ({ ended_at, tool_name }) =>
      by === "day" ? dayOf(ended_at) : tool_name
    )
    const items = Array.from(groups, ([key, all]) => {
      const ran = all.filter(({ ended_as }) => ended_as !== "refused")
      return {
        key,
        calls: sumOf(ran),
        failed: sumOf(ran, "failed"),
        refused: sumOf(all, "refused"),
        ...defined({ median_ms: within(ran, 0.5), slow_ms: within(ran, 0.95) })
      }
    })
    return {
      items: items.sort((a, b) => (by === "tool" && b.calls - a.calls) || (a.key < b.key ? -1 : 1)),
      ...(sumOf(found) === timings_max && { is_cut: true as const })
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
