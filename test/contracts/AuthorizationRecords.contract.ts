/** What workspaces authorised in advance: one that stands for each action, counted, bounded and revoked at once. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { AuthorizationRecords } from "../../services/AuthorizationRecords.ts"
import { AgentName, AuthorizationId, Tenant } from "../../src/value/Ids.ts"
import { authorizations_max } from "../../src/permission/Authorization.ts"
import type { WorkspaceAgentAuthorization } from "../../src/permission/Authorization.ts"

let count = 0
/** A workspace of its own for each test: the suite's layer is built once. */
const workspace = () => Tenant.make(`workspace-${++count}`)

const idOf = () => AuthorizationId.make(globalThis.crypto.randomUUID())

const granted_at = 1_700_000_000_000
const expires_at = granted_at + 1_000

const given = (
  tenant: Tenant,
  more?: Partial<WorkspaceAgentAuthorization>
): WorkspaceAgentAuthorization => ({
  id: idOf(),
  tenant,
  agent: AgentName.make("change-manager"),
  action: "apply_changeset",
  tool_key: "platform.apply_changeset@1",
  tool_digest: "a".repeat(64),
  granted_by: "carl ü\0",
  granted_at,
  expires_at,
  uses: 0,
  ...more
})

const recordTests = (it: Vitest.MethodsNonLive<AuthorizationRecords>): void => {
  it.effect("SA-28 keeps who granted what, when and until when, within a workspace", () =>
    Effect.gen(function* () {
      const records = yield* AuthorizationRecords
      const [one, other] = [workspace(), workspace()]
      const first = given(one)
      const second = given(one, { action: "update_framework", uses_max: 3 })
      yield* records.add(first)
      yield* records.add(second)
      assert.deepStrictEqual(yield* records.get(one, first.id), first)
      assert.deepStrictEqual(yield* records.list({ tenant: one, limit: 500 }), [second, first])
      assert.deepStrictEqual(yield* records.list({ tenant: one, limit: 1 }), [second])
      const behind = yield* records.list({ tenant: one, limit: 500, after: second.id })
      assert.deepStrictEqual(behind, [first])
      assert.deepStrictEqual(yield* records.list({ tenant: one, limit: 500, after: idOf() }), [])
      assert.deepStrictEqual(yield* records.list({ tenant: other, limit: 500 }), [])
      const foreign = yield* Effect.flip(records.get(other, first.id))
      assert.strictEqual(foreign._tag, "AuthorizationNotFound")
      const agents = [AgentName.make("troubleshooter")]
      assert.deepStrictEqual(yield* records.list({ tenant: one, limit: 500, agents }), [])
      assert.deepStrictEqual(yield* records.list({ tenant: one, limit: 500, agents: [] }), [])
      const third = given(one, { action: "other", tool_key: "platform.other@1" })
      yield* records.add(third)
      const tool_keys = [third.tool_key, "platform.nothing@1"]
      assert.deepStrictEqual(yield* records.list({ tenant: one, limit: 500, tool_keys }), [third])
      assert.deepStrictEqual(yield* records.list({ tenant: one, limit: 500, tool_keys: [] }), [])
    })
  )

  it.effect(
    "a second grant of one action replaces the first, so that a revocation leaves none",
    () =>
      Effect.gen(function* () {
        const records = yield* AuthorizationRecords
        const tenant = workspace()
        const [first, second] = [
          given(tenant),
          given(tenant, { granted_by: "olga", granted_at: granted_at + 5 })
        ]
        yield* records.add(first)
        yield* records.add(second)
        assert.deepInclude(yield* records.get(tenant, first.id), {
          revoked_by: "olga",
          revoked_at: granted_at + 5
        })
        assert.strictEqual((yield* records.use(first, granted_at + 6))?.id, second.id)
        yield* records.revoke(tenant, second.id, "vera", granted_at + 7)
        assert.isUndefined(yield* records.use(first, granted_at + 8))
        assert.deepStrictEqual(
          yield* records.list({ tenant, limit: 500, in_force_at: granted_at + 8 }),
          []
        )
      })
  )

  it.effect("of grants at once one stands", () =>
    Effect.gen(function* () {
      const records = yield* AuthorizationRecords
      const tenant = workspace()
      yield* Effect.forEach([1, 2, 3, 4, 5], () => records.add(given(tenant)), {
        concurrency: "unbounded"
      })
      const standing = yield* records.list({ tenant, limit: 500, in_force_at: granted_at })
      assert.lengthOf(standing, 1)
      assert.lengthOf(yield* records.list({ tenant, limit: 500 }), 5)
    })
  )
}

const useTests = (it: Vitest.MethodsNonLive<AuthorizationRecords>): void => {
  it.effect("SA-28 is used for exactly its workspace, agent, tool and version", () =>
    Effect.gen(function* () {
      const records = yield* AuthorizationRecords
      const tenant = workspace()
      const own = given(tenant)
      yield* records.add(own)
      for (const other of [
        { tenant: workspace() },
        { agent: AgentName.make("troubleshooter") },
        { tool_key: "platform.apply_changeset@2" },
        { tool_key: "platform.update_framework@1" },
        { tool_digest: "b".repeat(64) }
      ]) {
        assert.isUndefined(yield* records.use({ ...own, ...other }, granted_at))
      }
      const used = yield* records.use(own, granted_at + 1)
      assert.deepStrictEqual(used, { ...own, uses: 1, last_used_at: granted_at + 1 })
      assert.deepStrictEqual(yield* records.get(tenant, own.id), used)
    })
  )

  it.effect("SA-28 is not used when it has expired, was revoked or is used up", () =>
    Effect.gen(function* () {
      const records = yield* AuthorizationRecords
      const tenant = workspace()
      const own = given(tenant, { uses_max: 2 })
      yield* records.add(own)
      assert.isUndefined(yield* records.use(own, expires_at))
      const uses = yield* Effect.forEach([1, 2, 3, 4], () => records.use(own, granted_at), {
        concurrency: "unbounded"
      })
      assert.lengthOf(
        uses.filter((used) => used !== undefined),
        2
      )
      assert.strictEqual((yield* records.get(tenant, own.id)).uses, 2)
      const next = given(tenant, { action: "update_framework", tool_key: "x.update_framework@1" })
      yield* records.add(next)
      const revoked = yield* records.revoke(tenant, next.id, "vera\0", granted_at + 2)
      assert.deepInclude(revoked, { revoked_by: "vera\0", revoked_at: granted_at + 2 })
      assert.isUndefined(yield* records.use(next, granted_at + 1))
    })
  )

  it.effect("stays as it is when it is revoked again, and another workspace cannot revoke it", () =>
    Effect.gen(function* () {
      const records = yield* AuthorizationRecords
      const tenant = workspace()
      const own = given(tenant)
      yield* records.add(own)
      const foreign = yield* Effect.flip(records.revoke(workspace(), own.id, "eve", granted_at))
      assert.strictEqual(foreign._tag, "AuthorizationNotFound")
      const unknown = yield* Effect.flip(records.revoke(tenant, idOf(), "vera", granted_at))
      assert.strictEqual(unknown._tag, "AuthorizationNotFound")
      const first = yield* records.revoke(tenant, own.id, "vera", granted_at + 1)
      assert.deepStrictEqual(yield* records.revoke(tenant, own.id, "olga", granted_at + 2), first)
    })
  )

  it.effect(
    "one more than the bound is refused, unless it replaces one or others have expired",
    () =>
      Effect.gen(function* () {
        const records = yield* AuthorizationRecords
        const tenant = workspace()
        for (let i = 0; i < authorizations_max; i++) {
          yield* records.add(given(tenant, { action: `action_${i}` }))
        }
        const refused = yield* Effect.flip(records.add(given(tenant)))
        assert.deepInclude(refused, { _tag: "TooManyAuthorizations", authorizations_max })
        assert.lengthOf(yield* records.list({ tenant, limit: 1, in_force_at: granted_at }), 1)
        yield* records.add(given(tenant, { action: "action_7" }))
        const later = { granted_at: expires_at, expires_at: expires_at + 1 }
        yield* records.add(given(tenant, later))
      })
  )
}

export const authorizationRecordsTests = (
  it: Vitest.MethodsNonLive<AuthorizationRecords>
): void => {
  recordTests(it)
  useTests(it)
}
