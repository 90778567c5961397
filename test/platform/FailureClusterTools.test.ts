/** The failure-cluster family alone: no model, no database, no loop (SA-30). */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as OperationsTools from "../../layers/spectral/platform/OperationsHandlers.ts"
import * as Platform from "../../layers/compose/assembly/Platform.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { FailureClusterReader } from "../../services/spectral/platform/contracts/FailureClusterReader.ts"
import type { FailureClusterTriage } from "../../services/spectral/platform/FailureClusterTriage.ts"
import type { PlatformStores } from "../../services/spectral/platform/PlatformStores.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { permissionOf } from "../../src/tool/SideEffects.ts"
import { toolKeyOf } from "../../src/tool/ToolSpec.ts"
import { failure, odd, sample, some } from "./Records.ts"
import { failureOf, tenant, useOf } from "./ToolUse.ts"

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type RequirementsOf<T> = T extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

const stores = Spectral.layer.pipe(Layer.provide(EphemeralStores.layer))
const use = useOf(OperationsTools.failureClusters)

const test = (title: string, body: Effect.Effect<void, unknown, PlatformStores>) =>
  it.effect(title, () =>
    Effect.andThen(
      RecordImporter.use((importer) => importer.record(tenant, sample)),
      body
    ).pipe(Effect.provide(stores))
  )

const idsOf = (result: Readonly<Record<string, unknown>>) =>
  (result["clusters"] as ReadonlyArray<{ readonly cluster_id: string }>).map((c) => c.cluster_id)

describe("the failure-cluster tools", () => {
  test(
    "ST-50 need exactly the injected reader and the port of triage",
    Effect.gen(function* () {
      const exact: Same<
        RequirementsOf<typeof OperationsTools.failureClusters>,
        FailureClusterReader | FailureClusterTriage
      > = true
      assert.isTrue(exact)
      const tools = yield* OperationsTools.failureClusters
      assert.deepEqual(
        tools.map(({ spec }) => toolKeyOf(spec) as string),
        [...Platform.failure_cluster_tools]
      )
    })
  )

  test(
    "ST-47 list_failure_clusters is a read that filters by severity and status, and pages",
    Effect.gen(function* () {
      const tools = yield* OperationsTools.failureClusters
      const { spec } = tools.find((tool) => tool.spec.name === "list_failure_clusters")!
      assert.deepEqual([spec.side_effects, permissionOf(spec)], ["read", "allow"])
      const all = ["wrong-deadline", "old-price", "no-source", "rude"]
      assert.deepEqual(idsOf(yield* use("list_failure_clusters", {})), all)
      const high = yield* use("list_failure_clusters", { severity: "high" })
      assert.deepEqual(idsOf(high), ["old-price", "no-source"])
      yield* use("triage_cluster", { cluster_id: "rude", status: "resolved", notes: "Gone." })
      const resolved = yield* use("list_failure_clusters", { status: "resolved" })
      assert.deepEqual(idsOf(resolved), ["rude"])
      const none = yield* use("list_failure_clusters", { status: "resolved", severity: "high" })
      assert.deepEqual([idsOf(none), none["more"]], [[], false])
      const first = yield* use("list_failure_clusters", { limit: 3 })
      assert.deepEqual([idsOf(first), first["more"]], [all.slice(0, 3), true])
      const rest = yield* use("list_failure_clusters", { limit: 3, after: "no-source" })
      assert.deepEqual([idsOf(rest), rest["more"]], [["rude"], false])
      assert.deepEqual((first["clusters"] as ReadonlyArray<unknown>)[0], {
        cluster_id: "wrong-deadline",
        title: odd,
        severity: "critical",
        status: "new",
        system_id: "support-bot",
        failures: 3,
        last_seen_at: sample.clusters[2]!.last_seen_at
      })
    })
  )

  test(
    "ST-48 get_cluster_detail is a read of the snapshot and the linked failures, page by page",
    Effect.gen(function* () {
      const tools = yield* OperationsTools.failureClusters
      const { spec } = tools.find((tool) => tool.spec.name === "get_cluster_detail")!
      assert.deepEqual([spec.side_effects, permissionOf(spec)], ["read", "allow"])
      const detail = yield* use("get_cluster_detail", { cluster_id: "no-source" })
      assert.deepEqual(detail["cluster"], sample.clusters[0] as object)
      assert.deepEqual(detail["triage"], { status: "new" })
      assert.isFalse(detail["more_failures"])
      const idsIn = (of: Readonly<Record<string, unknown>>) =>
        (of["failures"] as ReadonlyArray<{ readonly failure_id: string }>).map((f) => f.failure_id)
      assert.deepEqual(idsIn(detail), ["failure-3", "failure-1", "failure-2"])
      const failures = Array.from({ length: 60 }, (_, i) => failure(`f-${100 + i}`, "rude", 10 + i))
      yield* RecordImporter.use((importer) => importer.record(tenant, some({ failures })))
      const first = yield* use("get_cluster_detail", { cluster_id: "rude" })
      assert.deepEqual([idsIn(first).length, first["more_failures"]], [50, true])
      const second = yield* use("get_cluster_detail", {
        cluster_id: "rude",
        failures_after: idsIn(first).at(-1)
      })
      assert.deepEqual([idsIn(second).length, second["more_failures"]], [11, false])
    })
  )

  test(
    "ST-49 triage_cluster is a mutation that asks, runs in the journal's transaction, and changes only operator-managed fields",
    Effect.gen(function* () {
      const tools = yield* OperationsTools.failureClusters
      const { spec } = tools.find((tool) => tool.spec.name === "triage_cluster")!
      assert.strictEqual(spec.category, "mutate")
      assert.strictEqual(permissionOf(spec), "ask")
      assert.isTrue(spec.transactional)
      const reader = yield* FailureClusterReader
      const before = yield* reader.cluster(tenant, "no-source")
      const args = { cluster_id: "no-source", status: "in_progress", notes: "  Sources come. " }
      assert.deepEqual(yield* use("triage_cluster", args, { approved_by: "ada" }), {
        cluster_id: "no-source",
        status: "in_progress",
        triaged_by: "ada"
      })
      const after = yield* reader.cluster(tenant, "no-source")
      assert.deepEqual(after.cluster, before.cluster)
      const { triaged_at, ...said } = after.triage
      assert.isNumber(triaged_at)
      assert.deepEqual(said, { status: "in_progress", notes: "Sources come.", triaged_by: "ada" })
    })
  )

  test(
    "ST-49 other fields, blank notes, a status that is none and a foreign cluster change nothing",
    Effect.gen(function* () {
      const args = { cluster_id: "rude", status: "resolved", notes: "Gone." }
      for (const wrong of [
        { severity: "low" },
        { title: "x" },
        { triaged_by: "eve" },
        { notes: " " },
        { notes: "x".repeat(2_001) },
        { status: "open" },
        { status: undefined },
        { cluster_id: "Rude" }
      ]) {
        const refused = yield* failureOf(use("triage_cluster", { ...args, ...wrong }))
        assert.strictEqual(refused.refused, "arguments", JSON.stringify(wrong))
      }
      const other = { tenant: Tenant.make("other") }
      const foreign = yield* failureOf(use("triage_cluster", args, other))
      const unknown = yield* failureOf(use("triage_cluster", args, { tenant: Tenant.make("none") }))
      assert.deepInclude(foreign, { kind: "not_found", reason: "FAILURE_CLUSTER_NOT_FOUND" })
      assert.deepEqual(foreign, unknown)
      assert.deepEqual(
        yield* failureOf(use("get_cluster_detail", { cluster_id: "rude" }, other)),
        foreign
      )
      assert.deepEqual(idsOf(yield* use("list_failure_clusters", {}, other)), [])
      const reader = yield* FailureClusterReader
      assert.deepEqual((yield* reader.cluster(tenant, "rude")).triage, { status: "new" })
    })
  )
})
