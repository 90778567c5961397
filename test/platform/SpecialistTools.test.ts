/** The specialists' tools alone: no model, no database, no loop (SA-30). */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as ChangeTools from "../../layers/spectral/platform/ChangeHandlers.ts"
import * as SpecialistTools from "../../layers/spectral/platform/SpecialistHandlers.ts"
import * as Platform from "../../layers/compose/assembly/Platform.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { ChangesetStore } from "../../services/spectral/platform/contracts/ChangesetStore.ts"
import { ScanReader } from "../../services/spectral/platform/contracts/ScanReader.ts"
import type { PlatformStores } from "../../services/spectral/platform/PlatformStores.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { WorkspaceReader } from "../../services/spectral/platform/WorkspaceReader.ts"
import { WorkspaceSettings } from "../../services/spectral/platform/WorkspaceSettings.ts"
import { WorldViews } from "../../services/spectral/platform/WorldViews.ts"
import { StoreError } from "../../services/StoreError.ts"
import { specialistTools } from "../../src/spectral/agents/SpectralAgents.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { WorldId } from "../../src/spectral/worlds/contracts/WorldId.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import { permissionOf } from "../../src/tool/SideEffects.ts"
import { at, sample } from "./Records.ts"
import { failureOf, tenant, useOf } from "./ToolUse.ts"

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type RequirementsOf<T> = T extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

const stores = Spectral.layer.pipe(Layer.provide(EphemeralStores.layer))

const use = useOf(
  Effect.map(Effect.all(Platform.tools), (families): ReadonlyArray<GovernedTool> => families.flat())
)

const test = (title: string, body: Effect.Effect<void, unknown, PlatformStores>) =>
  it.effect(title, () =>
    Effect.andThen(
      RecordImporter.use((importer) => importer.record(tenant, sample)),
      body
    ).pipe(Effect.provide(stores))
  )

const scanIds = (result: Readonly<Record<string, unknown>>) =>
  (result["scans"] as ReadonlyArray<{ readonly scan_id: string }>).map(({ scan_id }) => scan_id)

describe("the tools of the specialists", () => {
  for (const [specialist, row] of [
    ["scan-analyst", "SA-09"],
    ["onboarding-guide", "SA-10"],
    ["framework-advisor", "SA-11"],
    ["troubleshooter", "SA-12"]
  ] as const) {
    test(
      `${row} those of ${specialist} have exactly the names of its table, and only read`,
      Effect.gen(function* () {
        const family = yield* Platform.specialists[specialist]
        assert.deepEqual(
          family.map(({ spec }) => spec.name),
          [...specialistTools[specialist]]
        )
        for (const { spec } of family) {
          assert.strictEqual(spec.side_effects, "read")
          assert.strictEqual(permissionOf(spec), "allow")
        }
      })
    )
  }

  it("SA-48 ST-35 need the platform's own readers and no port of another context", () => {
    const exact: readonly [
      Same<RequirementsOf<typeof SpecialistTools.scanAnalyst>, ScanReader | ChangesetStore>,
      Same<RequirementsOf<typeof SpecialistTools.onboardingGuide>, WorkspaceReader>,
      Same<RequirementsOf<typeof SpecialistTools.frameworkAdvisor>, WorkspaceReader | WorldViews>,
      Same<RequirementsOf<typeof SpecialistTools.troubleshooter>, ScanReader | WorkspaceReader>,
      Same<
        RequirementsOf<typeof ChangeTools.tools>,
        ChangesetStore | WorkspaceReader | WorkspaceSettings
      >
    ] = [true, true, true, true, true]
    assert.notInclude(exact, false)
  })

  test(
    "SA-09 SA-30 list_recent_scans filters, pages and says that there are more",
    Effect.gen(function* () {
      const all = yield* use("list_recent_scans", {})
      assert.deepEqual(scanIds(all), ["scan-3", "scan-2", "scan-1"])
      assert.isFalse(all["more"])
      const first = yield* use("list_recent_scans", { limit: 1 })
      assert.deepEqual([scanIds(first), first["more"]], [["scan-3"], true])
      const next = yield* use("list_recent_scans", { limit: 2, after: "scan-3" })
      assert.deepEqual([scanIds(next), next["more"]], [["scan-2", "scan-1"], false])
      assert.deepEqual(scanIds(yield* use("list_recent_scans", { status: "failed" })), ["scan-2"])
    })
  )

  test(
    "SA-09 a scan is read with its verdict, and its scores with the missed threshold first",
    Effect.gen(function* () {
      const { scan, verdict } = yield* use("get_scan_detail", { scan_id: "scan-3" })
      assert.deepInclude(scan, { scan_id: "scan-3", status: "completed" })
      assert.deepInclude(verdict, { outcome: "warn", changeset_id: "change-1" })
      const { scores } = yield* use("get_scan_scores", { scan_id: "scan-3" })
      assert.deepEqual(
        (scores as ReadonlyArray<{ readonly rubric_id: string }>).map(({ rubric_id }) => rubric_id),
        ["groundedness", "tone"]
      )
      const { state } = yield* use("get_changeset_detail", { changeset_id: "change-1" })
      assert.deepEqual(state, { status: "proposed" })
    })
  )

  test(
    "SA-10 onboarding says which step is next, and the guide names the workspace's own address",
    Effect.gen(function* () {
      const status = yield* use("get_onboarding_status", {})
      assert.strictEqual(status["next"], "system_card_written")
      assert.lengthOf(status["steps"] as ReadonlyArray<unknown>, 5)
      for (const instrumentation of ["environment", "collector", "http"]) {
        const guide = yield* use("get_trace_ingestion_guide", { instrumentation })
        assert.include(JSON.stringify(guide["steps"]), "https://ingest.example/v1/traces")
        assert.strictEqual(guide["last_trace_at"], at(50))
      }
      assert.deepEqual(
        yield* use("get_trace_ingestion_guide", {}),
        yield* use("get_trace_ingestion_guide", { instrumentation: "environment" })
      )
    })
  )

  test(
    "SA-11 frameworks are read as a whole or by one, with rubrics, provenance and system card",
    Effect.gen(function* () {
      const config = yield* use("get_framework_config", {})
      assert.strictEqual(config["configuration_version"], 1)
      assert.lengthOf(config["frameworks"] as ReadonlyArray<unknown>, 2)
      const one = yield* use("get_framework_config", { framework_id: "support" })
      assert.deepEqual(one["frameworks"], [
        {
          framework_id: "support",
          name: "support",
          version: 1,
          world_id: "credit",
          rubrics: [
            { rubric_id: "groundedness", threshold: 0.8, enabled: true },
            { rubric_id: "tone", threshold: 0.6, enabled: true }
          ]
        }
      ])
      const rubrics = yield* use("get_rubrics", { framework_id: "support" })
      assert.deepEqual(rubrics["rubrics"], sample.frameworks[0]!.rubrics)
      const provenance = yield* use("get_evaluation_framework_provenance", {
        framework_id: "support"
      })
      assert.deepEqual(provenance["revisions"], sample.frameworks[0]!.revisions)
      assert.deepEqual(
        yield* use("get_system_card", { system_id: "support-bot" }),
        sample.systems[0] as object
      )
    })
  )

  test(
    "ST-42 get_world_model_context reads the platform's own view of a world",
    Effect.gen(function* () {
      const args = { world_id: "credit" }
      assert.deepInclude(yield* failureOf(use("get_world_model_context", args)), {
        _tag: "ToolUserError",
        reason: "WORLD_NOT_FOUND"
      })
      const published = {
        world_id: WorldId.make("credit"),
        version: 3,
        name: "Consumer credit",
        domain: "Judges offers of consumer credit.",
        published_at: at(0),
        rules: 4,
        topics: 3,
        cases: 45,
        coverage: 0.5
      }
      yield* WorldViews.use((views) => views.observe(tenant, published))
      assert.deepEqual(yield* use("get_world_model_context", args), published)
    })
  )

  test(
    "SA-12 a failed scan is diagnosed with the errors that came with it, and no other scan is",
    Effect.gen(function* () {
      const found = yield* use("diagnose_scan_failure", { scan_id: "scan-2" })
      assert.include(String(found["cause"]), "refused")
      assert.isFalse(found["may_pass_by_itself"])
      assert.deepEqual(
        (found["errors"] as ReadonlyArray<{ readonly error_id: string }>).map((e) => e.error_id),
        ["error-1"]
      )
      const fine = yield* failureOf(use("diagnose_scan_failure", { scan_id: "scan-1" }))
      assert.deepInclude(fine, { _tag: "ToolUserError", reason: "SCAN_NOT_FAILED" })
      const errors = yield* use("get_recent_errors", { source: "ingestion", limit: 1 })
      assert.isTrue(errors["more"])
    })
  )

  test(
    "SA-12 the workspace's health says what stands against it",
    Effect.gen(function* () {
      yield* TestClock.setTime(at(51))
      const degraded = yield* use("check_workspace_health", {})
      assert.deepEqual(degraded, {
        state: "degraded",
        findings: ["Onboarding lacks system_card_written, first_scan_completed."],
        last_trace_at: at(50),
        last_completed_scan_at: at(48) + 60_000,
        failed_scans: 1,
        errors: 0
      })
      yield* TestClock.setTime(at(49))
      assert.strictEqual((yield* use("check_workspace_health", {}))["errors"], 24)
      yield* TestClock.setTime(at(75))
      const silent = yield* use("check_workspace_health", {})
      assert.strictEqual(silent["state"], "unhealthy")
      assert.include(
        JSON.stringify(silent["findings"]),
        "No trace has come for more than 24 hours."
      )
    })
  )
})

const readings: ReadonlyArray<readonly [name: string, args: object]> = [
  ["get_scan_detail", { scan_id: "scan-1" }],
  ["get_scan_scores", { scan_id: "scan-1" }],
  ["get_changeset_detail", { changeset_id: "change-1" }],
  ["get_onboarding_status", {}],
  ["get_trace_ingestion_guide", {}],
  ["get_framework_config", {}],
  ["get_framework_config", { framework_id: "support" }],
  ["get_rubrics", { framework_id: "support" }],
  ["get_world_model_context", { world_id: "credit" }],
  ["get_system_card", { system_id: "support-bot" }],
  ["get_evaluation_framework_provenance", { framework_id: "support" }],
  ["diagnose_scan_failure", { scan_id: "scan-2" }],
  ["check_workspace_health", {}]
]

describe("the tools of the platform", () => {
  test(
    "another workspace reads nothing, in the words of a workspace without records",
    Effect.gen(function* () {
      const [other, empty] = [Tenant.make("other"), Tenant.make("empty")]
      for (const [name, args] of readings) {
        const foreign = yield* failureOf(use(name, args, { tenant: other }))
        assert.deepInclude(foreign, { _tag: "ToolUserError", kind: "not_found" }, name)
        const absent = yield* failureOf(use(name, args, { tenant: empty }))
        assert.deepEqual(foreign, absent)
      }
      for (const name of ["list_recent_scans", "get_recent_errors"]) {
        assert.notInclude(JSON.stringify(yield* use(name, {}, { tenant: other })), "scan-")
      }
    })
  )

  test(
    "arguments beyond their bounds, of another type or for another tenant are refused",
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [string, unknown]> = [
        ["list_recent_scans", { limit: 0 }],
        ["list_recent_scans", { limit: 101 }],
        ["list_recent_scans", { limit: "5" }],
        ["list_recent_scans", { status: "broken" }],
        ["list_recent_scans", { tenant: "other" }],
        ["list_recent_scans", { workspace: "other" }],
        ["list_recent_scans", null],
        ["get_scan_detail", {}],
        ["get_scan_detail", { scan_id: "../scan-1" }],
        ["get_scan_detail", { scan_id: "a".repeat(65) }],
        ["get_trace_ingestion_guide", { instrumentation: "magic" }],
        ["get_world_model_context", { world_id: "Credit" }],
        ["get_recent_errors", { source: "nowhere" }],
        ["apply_changeset", { changeset_id: "change-1", by: "cara" }],
        ["update_framework", { framework_id: "support", version: 1, rubrics: [], reason: "r" }],
        [
          "update_framework",
          { framework_id: "support", version: 1, rubrics: [{ rubric_id: "tone" }], reason: "r" }
        ],
        [
          "update_framework",
          {
            framework_id: "support",
            version: 1,
            rubrics: [{ rubric_id: "tone", threshold: 2 }],
            reason: "r"
          }
        ],
        ["change_configuration", { version: 1, reason: "r" }],
        ["change_configuration", { version: 1, scan_schedule: "daily", reason: " " }],
        ["change_configuration", { version: 1, sample_share: -0.1, reason: "r" }]
      ]
      for (const [name, args] of wrong) {
        const refused = yield* failureOf(use(name, args))
        assert.strictEqual(refused.refused, "arguments", `${name} ${JSON.stringify(args)}`)
      }
    })
  )

  test(
    "a change names who approved it, and one at the wrong moment changes nothing",
    Effect.gen(function* () {
      const by = { approved_by: "ada" }
      const early = yield* failureOf(use("apply_changeset", { changeset_id: "change-1" }, by))
      assert.deepInclude(early, { _tag: "ToolUserError", reason: "CHANGE_REFUSED" })
      assert.include(early.message, "nothing was changed")
      const change = {
        framework_id: "support",
        version: 1,
        rubrics: [{ rubric_id: "tone", enabled: false }],
        reason: "Nobody needs it."
      }
      assert.deepEqual(yield* use("update_framework", change, by), {
        framework_id: "support",
        version: 2
      })
      const framework = yield* WorkspaceReader.use((reader) => reader.framework(tenant, "support"))
      assert.strictEqual(framework.revisions[1]!.by, "ada")
      const late = yield* failureOf(use("update_framework", change, by))
      assert.deepInclude(late, { _tag: "ToolUserError", reason: "CHANGE_REFUSED" })
      const configured = yield* use("change_configuration", {
        version: 1,
        sample_share: 0.1,
        reason: "Costs."
      })
      assert.deepInclude(configured["configuration"], { sample_share: 0.1 })
      assert.strictEqual(
        (yield* WorkspaceReader.use((reader) => reader.workspace(tenant))).changed?.by,
        "cara"
      )
    })
  )

  test(
    "SA-25 a workspace that only observes by the time of the write has nothing changed",
    Effect.gen(function* () {
      const settings = yield* WorkspaceSettings
      const changesets = yield* ChangesetStore
      const review = { decision: "approved", note: "", by: "rita" } as const
      yield* changesets.review(tenant, "change-1", review)
      const mode = { version: 1, autonomy_mode: "observe_only", reason: "A test." } as const
      yield* settings.changeConfiguration(tenant, mode, "olga")
      const change = {
        framework_id: "support",
        version: 1,
        rubrics: [{ rubric_id: "tone", enabled: false }],
        reason: "Nobody needs it."
      }
      // Here the body alone runs, as behind a precondition that was true a moment before.
      for (const [name, args] of [
        ["apply_changeset", { changeset_id: "change-1" }],
        ["update_framework", change]
      ] as const) {
        const refused = yield* failureOf(use(name, args))
        const expected = { _tag: "ToolPolicyError", reason: "WORKSPACE_OBSERVES_ONLY" }
        assert.deepInclude(refused, expected, name)
      }
      const { state } = yield* changesets.changeset(tenant, "change-1")
      assert.strictEqual(state.status, "approved")
      const framework = yield* WorkspaceReader.use((reader) => reader.framework(tenant, "support"))
      assert.strictEqual(framework.version, 1)
      yield* use("change_configuration", { ...mode, version: 2, autonomy_mode: "propose" })
      assert.deepInclude(yield* use("update_framework", change), { version: 2 })
    })
  )

  it.effect("SA-30 a store that is away is ToolTransientError without the store's words", () => {
    const away = Effect.fail(new StoreError({ message: "postgres://u:p@db is away" }))
    const gone = Layer.mergeAll(
      stores,
      Layer.succeed(ScanReader, { scans: () => away, scan: () => away }),
      Layer.succeed(WorldViews, { view: () => away, observe: () => away })
    )
    return Effect.gen(function* () {
      for (const [name, args] of [
        ["list_recent_scans", {}],
        ["get_scan_detail", { scan_id: "scan-1" }],
        ["diagnose_scan_failure", { scan_id: "scan-1" }],
        ["get_world_model_context", { world_id: "credit" }]
      ] as const) {
        const failure = yield* failureOf(use(name, args))
        assert.deepInclude(failure, {
          _tag: "ToolTransientError",
          kind: "external",
          reason: "STORE_UNAVAILABLE"
        })
        assert.notInclude(failure.message, "postgres")
      }
    }).pipe(Effect.provide(gone))
  })
})
