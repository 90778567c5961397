/** The records of workspaces, on every store alike. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Outbox } from "../../services/Outbox.ts"
import { ChangesetStore } from "../../services/spectral/platform/contracts/ChangesetStore.ts"
import { FailureClusterReader } from "../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { record_page_max } from "../../services/spectral/platform/contracts/RecordPage.ts"
import { ScanReader } from "../../services/spectral/platform/contracts/ScanReader.ts"
import { FailureClusterTriage } from "../../services/spectral/platform/FailureClusterTriage.ts"
import type { PlatformStores } from "../../services/spectral/platform/PlatformStores.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { WorkspaceReader } from "../../services/spectral/platform/WorkspaceReader.ts"
import { WorkspaceSettings } from "../../services/spectral/platform/WorkspaceSettings.ts"
import { WorldViews } from "../../services/spectral/platform/WorldViews.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import type { FrameworkChange } from "../../src/spectral/platform/Framework.ts"
import type { PlatformRecords } from "../../src/spectral/platform/PlatformRecords.ts"
import { FrameworkId } from "../../src/spectral/platform/contracts/Fact.ts"
import { WorldId } from "../../src/spectral/worlds/contracts/WorldId.ts"
import * as Events from "../platform/Events.ts"
import { failure, odd, sample, some } from "../platform/Records.ts"
import { contract } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = PlatformStores | Outbox

const record = (tenant: Tenant, records: PlatformRecords) =>
  RecordImporter.use((importer) => importer.record(tenant, records))

/** A new workspace with the sample's records. */
const filled = Effect.gen(function* () {
  const tenant = Samples.tenant()
  yield* record(tenant, sample)
  return tenant
})

const clusterIds = (tenant: Tenant, query: object = {}) =>
  Effect.map(
    FailureClusterReader.use((reader) => reader.clusters(tenant, { limit: 100, ...query })),
    (found) => found.map(({ cluster }) => cluster.cluster_id)
  )

const scanIds = (tenant: Tenant, query: object = {}) =>
  Effect.map(
    ScanReader.use((reader) => reader.scans(tenant, { limit: 100, ...query })),
    (found) => found.map(({ scan }) => scan.scan_id)
  )

/** What there is of one tenant, and nothing of another, as one value. */
const everything = Effect.fnUntraced(function* (tenant: Tenant) {
  const scans = yield* ScanReader
  const changesets = yield* ChangesetStore
  const clusters = yield* FailureClusterReader
  const workspaces = yield* WorkspaceReader
  const views = yield* WorldViews
  const page = { limit: 100 }
  return yield* Effect.all({
    scans: scans.scans(tenant, page),
    changesets: changesets.changesets(tenant, page),
    clusters: clusters.clusters(tenant, page),
    failures: clusters.failures(tenant, "no-source", page),
    frameworks: workspaces.frameworks(tenant),
    errors: workspaces.errors(tenant, page),
    workspace: Effect.option(workspaces.workspace(tenant)),
    view: Effect.option(views.view(tenant, "credit"))
  })
})

const recording = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("records are read as they were given", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      const scans = yield* ScanReader
      const changesets = yield* ChangesetStore
      const clusters = yield* FailureClusterReader
      const workspaces = yield* WorkspaceReader
      for (const each of sample.scans) {
        assert.deepEqual(yield* scans.scan(tenant, each.scan.scan_id), each)
      }
      for (const each of sample.changesets) {
        assert.deepEqual(yield* changesets.changeset(tenant, each.changeset.changeset_id), each)
      }
      for (const cluster of sample.clusters) {
        assert.deepEqual(yield* clusters.cluster(tenant, cluster.cluster_id), {
          cluster,
          triage: { status: "new" }
        })
      }
      assert.deepEqual(yield* workspaces.workspace(tenant), sample.workspace)
      assert.deepEqual(yield* workspaces.framework(tenant, "support"), sample.frameworks[0])
      assert.deepEqual(yield* workspaces.systemCard(tenant, "support-bot"), sample.systems[0])
      const errors = yield* workspaces.errors(tenant, { limit: 100 })
      assert.deepEqual(errors, sample.errors.toReversed())
    })
  )

  it.effect("what is found again follows, and what people decided stays", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      const by = "olga"
      const clusters = yield* FailureClusterReader
      const changesets = yield* ChangesetStore
      const workspaces = yield* WorkspaceReader
      const settings = yield* WorkspaceSettings
      yield* FailureClusterTriage.use((triage) =>
        triage.triage(tenant, "rude", { status: "dismissed", notes: odd, by })
      )
      yield* changesets.review(tenant, "change-1", { decision: "rejected", note: "", by })
      yield* settings.changeConfiguration(
        tenant,
        { version: 1, scan_schedule: "off", reason: "A pause." },
        by
      )
      const before = yield* clusters.cluster(tenant, "rude")
      const known = sample.clusters[1]!
      const snapshot = { ...known.snapshot, failures: 9 }
      const running = { ...sample.scans[0]!, scores: [] }
      yield* record(tenant, {
        ...sample,
        scans: [running],
        clusters: [{ ...known, severity: "critical", snapshot }]
      })
      assert.deepEqual(yield* clusters.cluster(tenant, "rude"), {
        cluster: { ...known, severity: "critical", snapshot },
        triage: before.triage
      })
      assert.deepEqual(yield* ScanReader.use((reader) => reader.scan(tenant, "scan-1")), running)
      assert.strictEqual((yield* changesets.changeset(tenant, "change-1")).state.status, "rejected")
      const { configuration } = yield* workspaces.workspace(tenant)
      assert.strictEqual(configuration.scan_schedule, "off")
      assert.lengthOf(yield* clusters.failures(tenant, "no-source", { limit: 100 }), 3)
    })
  )

  it.effect("records that are none, or a failure without its cluster, are refused whole", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const [scan] = sample.scans
      const wrong: ReadonlyArray<readonly [unknown, string]> = [
        [null, "records"],
        [{ ...sample, extra: 1 }, "records.extra"],
        [{ ...sample, scans: [scan, scan] }, "records.scans"],
        [{ ...sample, scans: [{ ...scan, scan: { ...scan!.scan, failures: 401 } }] }, "failures"],
        [{ ...sample, scans: [{ ...scan, scan: { ...scan!.scan, status: "failed" } }] }, "failure"],
        [
          { ...sample, clusters: sample.clusters.slice(1) },
          "there is no failure cluster no-source"
        ],
        [{ ...sample, frameworks: Array(101).fill(sample.frameworks[0]) }, "records.frameworks"]
      ]
      for (const [records, where] of wrong) {
        const error = yield* Effect.flip(record(tenant, records as PlatformRecords))
        assert.strictEqual(error._tag, "ChangeRefused")
        assert.include(error.message, where)
      }
      assert.deepEqual(yield* everything(tenant), yield* everything(Samples.tenant()))
    })
  )

  it.effect("SA-49 events are published with their records, once for each id", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const outbox = yield* Outbox
      const event = {
        id: Samples.messageId(),
        topic: "verdict.issued",
        payload: Events.verdictIssued
      }
      const records = some({ events: [event] })
      yield* record(tenant, records)
      yield* record(tenant, records)
      const claimed = yield* outbox.claim({
        owner: Samples.unique("owner"),
        topics: ["verdict.issued"],
        limit: 500,
        lease_ms: 60_000
      })
      const own = claimed.filter((message) => message.tenant === tenant)
      assert.lengthOf(own, 1)
      assert.deepInclude(own[0]!, {
        id: event.id,
        key: `platform/${tenant}/scan/scan-7`,
        payload: Events.verdictIssued
      })
    })
  )
}

const tenants = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("another workspace's records are not told from records that are not there", () =>
    Effect.gen(function* () {
      yield* filled
      const [other, empty] = [Samples.tenant(), Samples.tenant()]
      yield* record(other, some({}))
      const scans = yield* ScanReader
      const changesets = yield* ChangesetStore
      const clusters = yield* FailureClusterReader
      const workspaces = yield* WorkspaceReader
      const triage = yield* FailureClusterTriage
      const settings = yield* WorkspaceSettings
      const by = "olga"
      const change: FrameworkChange = {
        framework_id: FrameworkId.make("support"),
        version: 1,
        rubrics: [{ rubric_id: "tone", enabled: false }],
        reason: "A try."
      }
      const asked: ReadonlyArray<
        readonly [string, (tenant: Tenant) => Effect.Effect<unknown, { readonly message: string }>]
      > = [
        ["scan-1", (of) => scans.scan(of, "scan-1")],
        ["change-1", (of) => changesets.changeset(of, "change-1")],
        ["change-1", (of) => changesets.apply(of, "change-1", by)],
        [
          "change-1",
          (of) => changesets.review(of, "change-1", { decision: "approved", note: "", by })
        ],
        ["rude", (of) => clusters.cluster(of, "rude")],
        ["rude", (of) => triage.triage(of, "rude", { status: "resolved", notes: "x", by })],
        ["support", (of) => workspaces.framework(of, "support")],
        ["support", (of) => settings.updateFramework(of, change, by)],
        ["support-bot", (of) => workspaces.systemCard(of, "support-bot")],
        ["workspace", (of) => workspaces.workspace(of)]
      ]
      for (const [id, ask] of asked) {
        const error = yield* Effect.flip(ask(other))
        assert.propertyVal(error, "_tag", "RecordNotFound", id)
        assert.strictEqual(error.message, (yield* Effect.flip(ask(empty))).message)
        assert.include(error.message, id)
      }
      assert.deepEqual(yield* everything(other), yield* everything(empty))
      // The id of a foreign record is no cursor either.
      assert.deepEqual(yield* scanIds(other, { after: "scan-3" }), [])
    })
  )

  it.effect("two workspaces have records of one id, each its own", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* filled, yield* filled]
      yield* FailureClusterTriage.use((triage) =>
        triage.triage(first, "rude", { status: "resolved", notes: "Gone.", by: "olga" })
      )
      assert.deepEqual(yield* clusterIds(first, { status: "resolved" }), ["rude"])
      assert.deepEqual(yield* clusterIds(second, { status: "resolved" }), [])
    })
  )
}

const listing = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "ST-47 clusters are listed by severity, then by when they were seen last, and filtered",
    () =>
      Effect.gen(function* () {
        const tenant = yield* filled
        const all = ["wrong-deadline", "old-price", "no-source", "rude"]
        assert.deepEqual(yield* clusterIds(tenant), all)
        assert.deepEqual(yield* clusterIds(tenant, { severity: "high" }), [
          "old-price",
          "no-source"
        ])
        assert.deepEqual(yield* clusterIds(tenant, { status: "resolved" }), [])
        assert.deepEqual(yield* clusterIds(tenant, { severity: "low", status: "new" }), ["rude"])
        assert.deepEqual(yield* clusterIds(tenant, { limit: 2 }), all.slice(0, 2))
        assert.deepEqual(yield* clusterIds(tenant, { after: "old-price" }), all.slice(2))
        assert.deepEqual(yield* clusterIds(tenant, { after: "rude" }), [])
        assert.deepEqual(yield* clusterIds(tenant, { after: "unknown" }), [])
        // The cursor need not match the filter.
        assert.deepEqual(yield* clusterIds(tenant, { after: "wrong-deadline", severity: "low" }), [
          "rude"
        ])
      })
  )

  it.effect(
    "scans, change sets, errors and linked failures are listed newest first, page by page",
    () =>
      Effect.gen(function* () {
        const tenant = yield* filled
        assert.deepEqual(yield* scanIds(tenant), ["scan-3", "scan-2", "scan-1"])
        assert.deepEqual(yield* scanIds(tenant, { status: "completed" }), ["scan-3", "scan-1"])
        assert.deepEqual(yield* scanIds(tenant, { after: "scan-3", limit: 1 }), ["scan-2"])
        const changesets = yield* ChangesetStore
        const proposed = yield* changesets.changesets(tenant, { limit: 9, status: "proposed" })
        assert.deepEqual(
          proposed.map(({ changeset }) => changeset.changeset_id),
          ["change-2", "change-1"]
        )
        const clusters = yield* FailureClusterReader
        const failures = (page: object) =>
          Effect.map(clusters.failures(tenant, "no-source", { limit: 9, ...page }), (found) =>
            found.map(({ failure_id }) => failure_id)
          )
        assert.deepEqual(yield* failures({}), ["failure-3", "failure-1", "failure-2"])
        assert.deepEqual(yield* failures({ after: "failure-3", limit: 1 }), ["failure-1"])
        assert.deepEqual(yield* failures({ after: "failure-4" }), [])
        const workspaces = yield* WorkspaceReader
        const errors = (query: object) =>
          Effect.map(workspaces.errors(tenant, { limit: 9, ...query }), (found) =>
            found.map(({ error_id }) => error_id)
          )
        assert.deepEqual(yield* errors({ source: "ingestion" }), ["error-2", "error-1"])
        assert.deepEqual(yield* errors({ scan_id: "scan-2" }), ["error-1"])
        assert.deepEqual(yield* errors({ after: "error-2" }), ["error-1"])
      })
  )

  it.effect("every record is on one page of its list, and no page is longer than its bound", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      const count = record_page_max + 3
      // Many at one moment, with ids whose order by the rules of a language is another.
      const failures = Array.from({ length: count }, (_, i) =>
        failure(`${i % 2 === 0 ? "a-" : "a"}${i}`, "rude", i % 3)
      )
      yield* record(tenant, some({ failures }))
      const clusters = yield* FailureClusterReader
      const ids: Array<string> = []
      for (;;) {
        const page = yield* clusters.failures(tenant, "rude", { limit: 1e6, after: ids.at(-1) })
        assert.isAtMost(page.length, record_page_max)
        if (page.length === 0) break
        for (const { failure_id } of page) ids.push(failure_id)
      }
      const expected = [...failures.map(({ failure_id }) => failure_id), "failure-4"]
      assert.lengthOf(ids, count + 1)
      assert.sameMembers(ids, expected)
      for (const limit of [0, -1]) {
        assert.deepEqual(yield* clusters.failures(tenant, "rude", { limit }), [])
      }
    })
  )
}

const deciding = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("ST-49 triage changes the fields that operators manage and no other", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      const before = yield* everything(tenant)
      const triage = yield* FailureClusterTriage
      const given = { status: "in_progress", notes: odd, by: "olga" } as const
      const after = yield* triage.triage(tenant, "no-source", given)
      const clusters = yield* FailureClusterReader
      assert.deepEqual(yield* clusters.cluster(tenant, "no-source"), after)
      const { triaged_at, ...said } = after.triage
      assert.isNumber(triaged_at)
      assert.deepEqual(said, { status: "in_progress", notes: odd, triaged_by: "olga" })
      const changed = before.clusters.map((each) =>
        each.cluster.cluster_id === "no-source" ? { ...each, triage: after.triage } : each
      )
      assert.deepEqual(yield* everything(tenant), { ...before, clusters: changed })
      yield* triage.triage(tenant, "no-source", { status: "new", notes: "Again.", by: "pia" })
      assert.deepInclude((yield* clusters.cluster(tenant, "no-source")).triage, {
        status: "new",
        notes: "Again.",
        triaged_by: "pia"
      })
    })
  )

  it.effect("SA-27 a change set is reviewed once, and applied once, after its approval", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      const store = yield* ChangesetStore
      const approve = { decision: "approved", note: "Good.", by: "ada" } as const
      const apply = store.apply(tenant, "change-1", "cara")
      const early = yield* Effect.flip(apply)
      assert.propertyVal(early, "_tag", "ChangeRefused")
      assert.include(early.message, "change-1 is proposed")
      const reviewed = yield* store.review(tenant, "change-1", approve)
      assert.deepInclude(reviewed.state.reviewed!, { by: "ada", note: "Good." })
      const both = yield* Effect.all([Effect.result(apply), Effect.result(apply)], {
        concurrency: "unbounded"
      })
      assert.sameMembers(
        both.map(({ _tag }) => _tag),
        ["Success", "Failure"]
      )
      const { state } = yield* store.changeset(tenant, "change-1")
      assert.strictEqual(state.status, "applied")
      assert.strictEqual(state.applied?.by, "cara")
      assert.strictEqual(state.reviewed?.by, "ada")
      for (const late of [apply, store.review(tenant, "change-1", approve)]) {
        assert.propertyVal(yield* Effect.flip(late), "_tag", "ChangeRefused")
      }
      yield* store.review(tenant, "change-2", { ...approve, decision: "rejected", by: " " })
      assert.include(
        (yield* Effect.flip(store.apply(tenant, "change-2", "cara"))).message,
        "rejected"
      )
    })
  )

  it.effect(
    "a framework is changed on the version that was seen, with a revision that says why",
    () =>
      Effect.gen(function* () {
        const tenant = yield* filled
        const settings = yield* WorkspaceSettings
        const workspaces = yield* WorkspaceReader
        const change = (given: object = {}): FrameworkChange => ({
          framework_id: FrameworkId.make("support"),
          version: 1,
          rubrics: [{ rubric_id: "tone", threshold: 0.7 }],
          reason: "Customers complain.",
          ...given
        })
        const wrong: ReadonlyArray<readonly [object, string]> = [
          [{ version: 2 }, "is at version 1, not 2"],
          [{ rubrics: [{ rubric_id: "unknown", enabled: false }] }, "has no rubric unknown"],
          [{ rubrics: [change().rubrics[0], change().rubrics[0]] }, "named twice"]
        ]
        for (const [given, why] of wrong) {
          const error = yield* Effect.flip(settings.updateFramework(tenant, change(given), "cara"))
          assert.propertyVal(error, "_tag", "ChangeRefused")
          assert.include(error.message, why)
        }
        assert.deepEqual(yield* workspaces.framework(tenant, "support"), sample.frameworks[0])
        const both = yield* Effect.all(
          ["cara", "carl"].map((by) =>
            Effect.result(settings.updateFramework(tenant, change(), by))
          ),
          { concurrency: "unbounded" }
        )
        assert.sameMembers(
          both.map(({ _tag }) => _tag),
          ["Success", "Failure"]
        )
        const after = yield* workspaces.framework(tenant, "support")
        assert.strictEqual(after.version, 2)
        assert.deepEqual(after.rubrics, [
          sample.frameworks[0]!.rubrics[0]!,
          { ...sample.frameworks[0]!.rubrics[1]!, threshold: 0.7 }
        ])
        assert.lengthOf(after.revisions, 2)
        assert.deepInclude(after.revisions[1], { version: 2, reason: "Customers complain." })
      })
  )

  it.effect(
    "the configuration is changed on the version that was seen, and keeps what is not named",
    () =>
      Effect.gen(function* () {
        const tenant = yield* filled
        const settings = yield* WorkspaceSettings
        const change = { version: 1, autonomy_mode: "observe_only", reason: "A pause." } as const
        yield* settings.changeConfiguration(tenant, change, "cara")
        const late = yield* Effect.flip(settings.changeConfiguration(tenant, change, "carl"))
        assert.propertyVal(late, "_tag", "ChangeRefused")
        assert.include(late.message, "is at version 2, not 1")
        const { changed, configuration, version } = yield* WorkspaceReader.use((reader) =>
          reader.workspace(tenant)
        )
        assert.strictEqual(version, 2)
        assert.deepEqual(configuration, {
          ...sample.workspace!.configuration,
          autonomy_mode: "observe_only"
        })
        assert.deepInclude(changed, { by: "cara", reason: "A pause." })
      })
  )
}

const viewing = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "ST-42 the view of a world is what was published last, whatever the order of events",
    () =>
      Effect.gen(function* () {
        const [tenant, other] = [Samples.tenant(), Samples.tenant()]
        const views = yield* WorldViews
        const published = (version: number) => ({
          world_id: WorldId.make("credit"),
          version,
          name: odd,
          domain: "Judges offers of consumer credit.",
          published_at: 1_770_000_000_000 + version,
          rules: 4,
          topics: 3,
          cases: 45,
          coverage: 0.5
        })
        assert.propertyVal(yield* Effect.flip(views.view(tenant, "credit")), "kind", "world")
        for (const version of [2, 3, 3, 1]) yield* views.observe(tenant, published(version))
        assert.deepEqual(yield* views.view(tenant, "credit"), published(3))
        assert.propertyVal(
          yield* Effect.flip(views.view(other, "credit")),
          "_tag",
          "RecordNotFound"
        )
      })
  )
}

export const platformContract = contract<Needs>("Platform", (it) => {
  recording(it)
  tenants(it)
  listing(it)
  deciding(it)
  viewing(it)
})
