/** The tools for drafts and for distillation alone: no model, no database, no loop. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as OperationsTools from "../../layers/spectral/platform/OperationsHandlers.ts"
import * as Platform from "../../layers/compose/assembly/Platform.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { FailureClusterReader } from "../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { DraftStore } from "../../services/spectral/platform/contracts/DraftStore.ts"
import { FailureClusterTriage } from "../../services/spectral/platform/FailureClusterTriage.ts"
import type { PlatformStores } from "../../services/spectral/platform/PlatformStores.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { WorkspaceReader } from "../../services/spectral/platform/WorkspaceReader.ts"
import { WorkspaceSettings } from "../../services/spectral/platform/WorkspaceSettings.ts"
import { StoreError } from "../../services/StoreError.ts"
import { CallId, Tenant } from "../../src/value/Ids.ts"
import type { ClusterRecord } from "../../src/spectral/platform/contracts/FailureCluster.ts"
import { ClusterId, FrameworkId } from "../../src/spectral/platform/contracts/Fact.ts"
import { permissionOf } from "../../src/tool/SideEffects.ts"
import { toolKeyOf } from "../../src/tool/ToolSpec.ts"
import { sample } from "./Records.ts"
import { failureOf, tenant, useOf } from "./ToolUse.ts"

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type RequirementsOf<T> = T extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

const stores = Spectral.layer.pipe(Layer.provide(EphemeralStores.layer))
const use = useOf(OperationsTools.drafts)

const test = (title: string, body: Effect.Effect<void, unknown, PlatformStores>) =>
  it.effect(title, () =>
    Effect.andThen(
      RecordImporter.use((importer) => importer.record(tenant, sample)),
      body
    ).pipe(Effect.provide(stores))
  )

/** Of another call each time: a call writes one draft. */
const nth = (n: number) => ({ call: CallId.make(`0/${n}.0`) })

const rubric = {
  framework_id: "support",
  rubric_id: "tone",
  title: "A stricter tone",
  threshold: 0.7
}
const card = { system_id: "support-bot", title: "Known limits", add_limits: ["It is rude."] }
const publication = {
  draft_id: "draft-1",
  target_id: "tone",
  based_on: 1,
  reason: " Agreed on Monday. "
}

const framework = WorkspaceReader.use((reader) => reader.framework(tenant, "support"))
const idsOf = (result: Readonly<Record<string, unknown>>) =>
  (result["drafts"] as ReadonlyArray<{ readonly draft_id: string }>).map((d) => d.draft_id)

describe("the draft tools", () => {
  test(
    "SA-46 need the store of drafts alone, ask nobody to write and always a person to publish",
    Effect.gen(function* () {
      const exact: Same<RequirementsOf<typeof OperationsTools.drafts>, DraftStore> = true
      const readsOnly: Same<
        RequirementsOf<typeof OperationsTools.patterns>,
        FailureClusterReader
      > = true
      assert.isTrue(exact && readsOnly)
      const tools = [...(yield* OperationsTools.patterns), ...(yield* OperationsTools.drafts)]
      assert.deepEqual(
        tools.map(({ spec }) => toolKeyOf(spec) as string),
        [...Platform.authoring_tools]
      )
      assert.deepEqual(
        tools.map(({ spec }) => [
          spec.name,
          spec.category,
          permissionOf(spec),
          spec.transactional ?? false
        ]),
        [
          ["distill_failure_patterns", "read", "allow", false],
          ["draft_rubric", "mutate", "allow", true],
          ["draft_system_card", "mutate", "allow", true],
          ["list_drafts", "read", "allow", false],
          ["get_draft", "read", "allow", false],
          ["withdraw_draft", "mutate", "ask", true],
          ["publish_draft", "mutate", "ask", true]
        ]
      )
      // The tool's own word comes before rules and modes of a policy.
      assert.strictEqual(tools.at(-1)!.spec.permission, "ask")
    })
  )

  test(
    "SA-46 a draft is written, listed, read and published, and its framework has a next version",
    Effect.gen(function* () {
      assert.deepEqual(yield* use("draft_rubric", rubric), {
        draft_id: "draft-1",
        target_id: "tone",
        based_on: 1,
        status: "draft"
      })
      assert.deepEqual(yield* use("draft_rubric", { ...rubric, threshold: 0.9 }), {
        draft_id: "draft-1",
        target_id: "tone",
        based_on: 1,
        status: "draft"
      })
      yield* use("draft_system_card", card, nth(2))
      const list = yield* use("list_drafts", {})
      assert.deepEqual([idsOf(list), list["more"]], [["draft-2", "draft-1"], false])
      const first = yield* use("list_drafts", { limit: 1 })
      assert.deepEqual([idsOf(first), first["more"]], [["draft-2"], true])
      const rest = yield* use("list_drafts", { limit: 1, after: "draft-2" })
      assert.deepEqual([idsOf(rest), rest["more"]], [["draft-1"], false])
      assert.deepEqual(idsOf(yield* use("list_drafts", { kind: "rubric" })), ["draft-1"])
      const read = yield* use("get_draft", { draft_id: "draft-1" })
      assert.deepInclude(read["content"] as object, { threshold: 0.7 })
      assert.deepEqual(read["author"], {
        run: "00000000-0000-4000-8000-00000000aaaa",
        call: "0/1.0",
        principal: "cara"
      })
      assert.strictEqual((yield* framework).version, 1)
      assert.deepEqual(yield* use("publish_draft", publication, { approved_by: "ada" }), {
        draft_id: "draft-1",
        status: "published",
        revision: 2,
        published_by: "ada"
      })
      const { revisions, rubrics, version } = yield* framework
      assert.deepEqual([version, rubrics[1]!.threshold], [2, 0.7])
      assert.deepInclude(revisions[1], { by: "ada", reason: "Agreed on Monday." })
      const withdrawal = { draft_id: "draft-2", reason: "Not needed." }
      assert.deepEqual(yield* use("withdraw_draft", withdrawal, { approved_by: "ada" }), {
        draft_id: "draft-2",
        status: "withdrawn",
        withdrawn_by: "ada"
      })
    })
  )

  test(
    "arguments that are none are refused before anything is written",
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [string, object]> = [
        ["draft_rubric", { ...rubric, title: " " }],
        ["draft_rubric", { ...rubric, title: "x".repeat(201) }],
        ["draft_rubric", { ...rubric, description: "x".repeat(2_001) }],
        ["draft_rubric", { ...rubric, criteria: [] }],
        ["draft_rubric", { ...rubric, criteria: Array(21).fill("One.") }],
        ["draft_rubric", { ...rubric, threshold: 1.1 }],
        ["draft_rubric", { ...rubric, sources: ["x".repeat(501)] }],
        ["draft_rubric", { ...rubric, rubric_id: "Tone" }],
        ["draft_rubric", { ...rubric, status: "published" }],
        ["draft_rubric", { ...rubric, framework_id: undefined }],
        ["draft_system_card", { ...card, framework_id: "basics" }],
        ["draft_system_card", { ...card, add_limits: Array(51).fill("One.") }],
        ["draft_system_card", { ...card, purpose: "x".repeat(1_001) }],
        ["draft_system_card", { ...card, tenant: "acme" }],
        ["publish_draft", { ...publication, draft_id: "draft-0" }],
        ["publish_draft", { ...publication, draft_id: "draft-1000000" }],
        ["publish_draft", { ...publication, based_on: 0 }],
        ["publish_draft", { ...publication, reason: "\n" }],
        ["publish_draft", { ...publication, reason: "x".repeat(1_001) }],
        ["publish_draft", { ...publication, by: "eve" }],
        ["withdraw_draft", { draft_id: "draft-1" }],
        ["list_drafts", { status: "open" }],
        ["list_drafts", { limit: 101 }]
      ]
      for (const [name, args] of wrong) {
        const { refused } = yield* failureOf(use(name, args))
        assert.strictEqual(refused, "arguments", `${name} ${JSON.stringify(args).slice(0, 200)}`)
      }
      assert.deepEqual(idsOf(yield* use("list_drafts", {})), [])
    })
  )

  test(
    "what cannot be done fails as the model's to correct, and says that nothing was changed",
    Effect.gen(function* () {
      yield* use("draft_rubric", rubric)
      yield* use("draft_rubric", { ...rubric, threshold: 0.9 }, nth(2))
      const refused = (name: string, args: object, why: string) =>
        Effect.map(failureOf(use(name, args, nth(9))), (error) => {
          assert.deepInclude(error, {
            _tag: "ToolUserError",
            kind: "invalid_args",
            reason: "CHANGE_REFUSED"
          })
          assert.include(error.message, why)
          assert.include(error.message, "nothing was changed")
        })
      yield* refused("draft_rubric", { ...rubric, threshold: 0.6 }, "says this already")
      yield* refused("publish_draft", { ...publication, target_id: "other" }, "is of tone")
      const change = {
        version: 1,
        rubrics: [{ rubric_id: "tone", enabled: false }],
        reason: "Now."
      }
      yield* WorkspaceSettings.use((settings) =>
        settings.updateFramework(
          tenant,
          { framework_id: FrameworkId.make("support"), ...change },
          "cara"
        )
      )
      yield* refused("publish_draft", publication, "is at revision 2")
      assert.strictEqual((yield* framework).version, 2)
      const unknown = { ...rubric, framework_id: "nothing" }
      assert.deepInclude(yield* failureOf(use("draft_rubric", unknown, nth(9))), {
        kind: "not_found",
        reason: "FRAMEWORK_NOT_FOUND"
      })
    })
  )

  test(
    "another tenant's draft is not found, by whatever tool",
    Effect.gen(function* () {
      yield* use("draft_rubric", rubric)
      const other = { tenant: Tenant.make("other") }
      const calls: ReadonlyArray<readonly [string, object]> = [
        ["get_draft", { draft_id: "draft-1" }],
        ["withdraw_draft", { draft_id: "draft-1", reason: "Mine." }],
        ["publish_draft", publication]
      ]
      for (const [name, args] of calls) {
        const foreign = yield* failureOf(use(name, args, other))
        assert.deepInclude(foreign, { kind: "not_found", reason: "DRAFT_NOT_FOUND" })
        const missing = yield* failureOf(use(name, args, { tenant: Tenant.make("none") }))
        assert.deepEqual(foreign, missing)
      }
      assert.deepEqual(idsOf(yield* use("list_drafts", {}, other)), [])
      assert.strictEqual((yield* framework).version, 1)
    })
  )

  it.effect("a store that does not answer is transient, without the store's own message", () => {
    const down = () => Effect.fail(new StoreError({ message: "secret-host is down" }))
    return Effect.gen(function* () {
      const calls = { draft_rubric: rubric, list_drafts: {}, publish_draft: publication }
      for (const [name, args] of Object.entries(calls)) {
        const failed = yield* failureOf(use(name, args))
        assert.deepInclude(failed, { _tag: "ToolTransientError", reason: "STORE_UNAVAILABLE" })
        assert.notInclude(failed.message, "secret-host")
      }
    }).pipe(
      Effect.provideService(DraftStore, {
        write: down,
        drafts: down,
        draft: down,
        withdraw: down,
        publish: down
      })
    )
  })
})

describe("distill_failure_patterns", () => {
  const distill = (args: object, given = {}) =>
    useOf(OperationsTools.patterns)("distill_failure_patterns", args, given)

  test(
    "SA-46 sums up open clusters of the tenant alone, and the closed ones only where it is asked to",
    Effect.gen(function* () {
      const all = yield* distill({})
      assert.deepInclude(all, { clusters: 4, failures: 12, more: false, more_clusters: false })
      // The sample's clusters have one title and one rubric.
      const [pattern, ...others] = all["patterns"] as ReadonlyArray<object>
      assert.lengthOf(others, 0)
      assert.deepInclude(pattern, { rubric_id: "groundedness", severity: "critical", clusters: 4 })
      yield* FailureClusterTriage.use((triage) =>
        triage.triage(tenant, "wrong-deadline", { status: "resolved", notes: "Gone.", by: "ada" })
      )
      const open = yield* distill({})
      assert.deepInclude(open, { clusters: 3, failures: 9 })
      const [left] = open["patterns"] as ReadonlyArray<object>
      assert.propertyVal(left, "severity", "high")
      assert.deepInclude(yield* distill({ include_closed: true }), { clusters: 4 })
      assert.deepInclude(yield* distill({ severity: "low" }), { clusters: 1, failures: 3 })
      const none = { clusters: 0, failures: 0, patterns: [], more: false, more_clusters: false }
      assert.deepEqual(yield* distill({ system_id: "other" }), none)
      assert.deepEqual(yield* distill({}, { tenant: Tenant.make("other") }), none)
      for (const wrong of [{ limit: 0 }, { limit: 16 }, { tenant: "acme" }, { severity: "bad" }]) {
        assert.strictEqual((yield* failureOf(distill(wrong))).refused, "arguments")
      }
    })
  )

  test(
    "closed clusters, however many, hide no open one that is less severe",
    Effect.gen(function* () {
      const [record] = yield* FailureClusterReader.use((reader) =>
        reader.clusters(tenant, { limit: 1 })
      )
      const many = Array.from({ length: 2_001 }, (_, n): ClusterRecord => {
        const status = n < 2_000 ? "resolved" : "new"
        const cluster = { ...record!.cluster, cluster_id: ClusterId.make(`cluster-${n}`) }
        return { cluster, triage: { ...record!.triage, status } }
      })
      const reader = FailureClusterReader.of({
        ...(yield* FailureClusterReader),
        clusters: (_, { after, limit }) => {
          const from = after === undefined ? 0 : Number(after.split("-")[1]) + 1
          return Effect.succeed(many.slice(from, from + limit))
        }
      })
      const open = yield* Effect.provideService(distill({}), FailureClusterReader, reader)
      assert.deepInclude(open, { clusters: 1, more_clusters: false })
    })
  )

  test(
    "a pattern's summary fits a system card as a limit",
    Effect.gen(function* () {
      const [{ summary }] = (yield* distill({}))["patterns"] as [{ readonly summary: string }]
      yield* use("draft_system_card", { ...card, add_limits: [summary] })
      const read = yield* use("get_draft", { draft_id: "draft-1" })
      const { limits } = read["content"] as { readonly limits: ReadonlyArray<string> }
      assert.strictEqual(limits.at(-1), summary)
      assert.include(summary, "groundedness, 12 failures")
    })
  )
})
