/**
 * The records of workspaces in one process, lost at its end. It has no transactions: what is written stays, even if the call that
 * wrote it fails.
 */
import { Clock, Effect, Layer } from "effect"
import { ChangesetStore } from "../../../../services/spectral/platform/contracts/ChangesetStore.ts"
import { FailureClusterReader } from "../../../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { ScanReader } from "../../../../services/spectral/platform/contracts/ScanReader.ts"
import { DraftStore } from "../../../../services/spectral/platform/contracts/DraftStore.ts"
import { FailureClusterTriage } from "../../../../services/spectral/platform/FailureClusterTriage.ts"
import type { PlatformStores } from "../../../../services/spectral/platform/PlatformStores.ts"
import { RecordCounter } from "../../../../services/spectral/platform/RecordCounter.ts"
import {
  readRecords,
  RecordImporter
} from "../../../../services/spectral/platform/RecordImporter.ts"
import { WorkspaceReader } from "../../../../services/spectral/platform/WorkspaceReader.ts"
import { WorkspaceSettings } from "../../../../services/spectral/platform/WorkspaceSettings.ts"
import { WorldViews } from "../../../../services/spectral/platform/WorldViews.ts"
import { Outbox } from "../../../../services/Outbox.ts"
import { canonical } from "../../../../src/value/Canonical.ts"
import { severityRank } from "../../../../src/spectral/platform/contracts/FailureCluster.ts"
import { personal_texts } from "../../../../src/spectral/platform/contracts/RecordTexts.ts"
import { ChangeRefused } from "../../../../src/spectral/platform/contracts/RecordErrors.ts"
import {
  appliedChangeset,
  reviewedChangeset
} from "../../../../src/spectral/platform/ChangesetSteps.ts"
import { changedFramework } from "../../../../src/spectral/platform/Framework.ts"
import type { PlatformRecords } from "../../../../src/spectral/platform/PlatformRecords.ts"
import {
  frameworks_max,
  messageOf,
  unlinkedFailure
} from "../../../../src/spectral/platform/PlatformRecords.ts"
import { sumOf } from "../../../../src/spectral/platform/SummaryTool.ts"
import type { SystemCard } from "../../../../src/spectral/platform/contracts/SystemCard.ts"
import { changedWorkspace } from "../../../../src/spectral/platform/Workspace.ts"
import { offerRows } from "../../EphemeralStore.ts"
import { drafts, offerDrafts } from "./EphemeralDrafts.ts"
import type { Place, WorkspaceMaps } from "./PlatformMaps.ts"
import * as PlatformMaps from "./PlatformMaps.ts"
import { orNotFound, pageOf } from "./PlatformMaps.ts"

type Maps = PlatformMaps.PlatformMaps["Service"]

const newestFirst = (at: number, id: string): Place => ({ numbers: [-at], id, descends: true })

const scans = ({ of }: Maps): ScanReader["Service"] => ({
  scans: (tenant, query) =>
    Effect.sync(() =>
      pageOf(
        of(tenant).scans,
        query,
        ({ scan }) => newestFirst(scan.started_at, scan.scan_id),
        ({ scan }) => query.status === undefined || scan.status === query.status
      )
    ),
  scan: (tenant, id) => Effect.suspend(() => orNotFound(of(tenant).scans.get(id), "scan", id))
})

const changesets = ({ of }: Maps): ChangesetStore["Service"] => {
  const get = (tenant: Parameters<Maps["of"]>[0], id: string) =>
    Effect.suspend(() => orNotFound(of(tenant).changesets.get(id), "change set", id))
  return {
    changesets: (tenant, query) =>
      Effect.sync(() =>
        pageOf(
          of(tenant).changesets,
          query,
          ({ changeset }) => newestFirst(changeset.proposed_at, changeset.changeset_id),
          ({ state }) => query.status === undefined || state.status === query.status
        )
      ),
    changeset: get,
    review: Effect.fnUntraced(function* (tenant, id, review) {
      const now = yield* Clock.currentTimeMillis
      const record = yield* get(tenant, id)
      const reviewed = yield* Effect.fromResult(reviewedChangeset(record, review, now))
      of(tenant).changesets.set(id, reviewed)
      return reviewed
    }),
    apply: Effect.fnUntraced(function* (tenant, id, by) {
      const now = yield* Clock.currentTimeMillis
      const record = yield* get(tenant, id)
      const applied = yield* Effect.fromResult(appliedChangeset(record, by, now))
      of(tenant).changesets.set(id, applied)
      return applied
    })
  }
}

const clusters = ({ of }: Maps): FailureClusterReader["Service"] => ({
  clusters: (tenant, { severity, status, ...page }) =>
    Effect.sync(() =>
      pageOf(
        of(tenant).clusters,
        page,
        ({ cluster }) => ({
          numbers: [severityRank(cluster.severity), -cluster.last_seen_at],
          id: cluster.cluster_id,
          descends: false
        }),
        ({ cluster, triage }) =>
          (severity === undefined || cluster.severity === severity) &&
          (status === undefined || triage.status === status)
      )
    ),
  cluster: (tenant, id) =>
    Effect.suspend(() => orNotFound(of(tenant).clusters.get(id), "failure cluster", id)),
  failures: (tenant, id, page) =>
    Effect.sync(() => {
      const maps = of(tenant)
      // A page that continues after a failure of another cluster is empty.
      const { after } = page
      if (after !== undefined && maps.failures.get(after)?.cluster_id !== id) return []
      return pageOf(
        maps.failures,
        page,
        ({ failure_id, occurred_at }) => newestFirst(occurred_at, failure_id),
        ({ cluster_id }) => cluster_id === id
      )
    })
})

const triage = ({ of }: Maps): FailureClusterTriage["Service"] => ({
  triage: Effect.fnUntraced(function* (tenant, id, { by, notes, status }) {
    const triaged_at = yield* Clock.currentTimeMillis
    const known = of(tenant).clusters
    const { cluster } = yield* orNotFound(known.get(id), "failure cluster", id)
    const record = { cluster, triage: { status, notes, triaged_by: by, triaged_at } }
    known.set(id, record)
    return record
  })
})

const byId = (a: { readonly framework_id: string }, b: { readonly framework_id: string }) =>
  a.framework_id < b.framework_id ? -1 : 1

const workspaces = ({ of }: Maps): WorkspaceReader["Service"] => ({
  workspace: (tenant) =>
    Effect.suspend(() => orNotFound(of(tenant).workspace, "workspace", tenant)),
  frameworks: (tenant) =>
    Effect.sync(() => [...of(tenant).frameworks.values()].toSorted(byId).slice(0, frameworks_max)),
  framework: (tenant, id) =>
    Effect.suspend(() => orNotFound(of(tenant).frameworks.get(id), "framework", id)),
  systemCard: (tenant, id) =>
    Effect.suspend(() => orNotFound(of(tenant).systems.get(id)?.card, "system", id)),
  errors: (tenant, { scan_id, source, ...page }) =>
    Effect.sync(() =>
      pageOf(
        of(tenant).errors,
        page,
        ({ at, error_id }) => newestFirst(at, error_id),
        (error) =>
          (source === undefined || error.source === source) &&
          (scan_id === undefined || error.scan_id === scan_id)
      )
    )
})

const settings = ({ of }: Maps): WorkspaceSettings["Service"] => ({
  lockWorkspace: (tenant) =>
    Effect.suspend(() => orNotFound(of(tenant).workspace, "workspace", tenant)),
  updateFramework: Effect.fnUntraced(function* (tenant, change, by) {
    const now = yield* Clock.currentTimeMillis
    const { framework_id: id } = change
    const known = of(tenant).frameworks
    const framework = yield* orNotFound(known.get(id), "framework", id)
    const next = yield* Effect.fromResult(changedFramework(framework, change, by, now))
    known.set(id, next)
    return next
  }),
  changeConfiguration: Effect.fnUntraced(function* (tenant, change, by) {
    const now = yield* Clock.currentTimeMillis
    const maps = of(tenant)
    const workspace = yield* orNotFound(maps.workspace, "workspace", tenant)
    const next = yield* Effect.fromResult(changedWorkspace(workspace, change, by, now))
    maps.workspace = next
    return next
  })
})

const worldViews = ({ getOrCreate, of }: Maps): WorldViews["Service"] => ({
  view: (tenant, world) =>
    Effect.suspend(() => orNotFound(of(tenant).worlds.get(world), "world", world)),
  observe: (tenant, published) =>
    Effect.sync(() => {
      const { worlds } = getOrCreate(tenant)
      const known = worlds.get(published.world_id)
      if (known === undefined || known.version < published.version) {
        worlds.set(published.world_id, published)
      }
    })
})

const counter = ({ of }: Maps): RecordCounter["Service"] => ({
  counts: (tenant) =>
    Effect.sync(() => {
      const { changesets, clusters, drafts, scans } = of(tenant)
      const count = 1
      return sumOf([
        ...[...scans.values()].map(({ scan: { status } }) => ({
          kind: "scan" as const,
          status,
          count
        })),
        ...[...changesets.values()].map(({ state: { status } }) => ({
          kind: "changeset" as const,
          status,
          count
        })),
        ...[...drafts.values()].map(({ state: { status } }) => ({
          kind: "draft" as const,
          status,
          count
        })),
        ...[...clusters.values()].map(({ cluster: { severity }, triage: { status } }) => ({
          kind: "cluster" as const,
          status,
          severity,
          count
        }))
      ])
    })
})

const keepKnown = <A>(known: Map<string, A>, id: string, record: A): void => {
  if (!known.has(id)) known.set(id, record)
}

const keepCard = ({ systems }: WorkspaceMaps, card: SystemCard): void => {
  const known = systems.get(card.system_id)
  if (known?.published === true) return
  const before = known?.revision ?? 0
  const isSame = known !== undefined && canonical(known.card) === canonical(card)
  systems.set(card.system_id, { card, revision: isSame ? before : before + 1, published: false })
}

const write = (maps: WorkspaceMaps, records: PlatformRecords): void => {
  maps.workspace ??= records.workspace
  for (const each of records.frameworks) keepKnown(maps.frameworks, each.framework_id, each)
  for (const each of records.systems) keepCard(maps, each)
  for (const each of records.scans) maps.scans.set(each.scan.scan_id, each)
  for (const each of records.changesets) {
    keepKnown(maps.changesets, each.changeset.changeset_id, each)
  }
  for (const cluster of records.clusters) {
    const known = maps.clusters.get(cluster.cluster_id)
    maps.clusters.set(cluster.cluster_id, {
      cluster,
      triage: known?.triage ?? { status: "new" }
    })
  }
  for (const each of records.failures) keepKnown(maps.failures, each.failure_id, each)
  for (const each of records.errors) keepKnown(maps.errors, each.error_id, each)
}

const importer = (
  { getOrCreate, of }: Maps,
  outbox: Outbox["Service"]
): RecordImporter["Service"] => ({
  record: Effect.fnUntraced(function* (tenant, given) {
    const records = yield* readRecords(given)
    const unlinked = unlinkedFailure(records, (id) => of(tenant).clusters.has(id))
    if (unlinked !== undefined) return yield* new ChangeRefused({ message: unlinked })
    write(getOrCreate(tenant), records)
    yield* outbox.enqueue(records.events.map((event) => messageOf(tenant, event)))
    return undefined
  })
})

/** Registers for erasures what people wrote, where people may be named. Findings stay as they are. */
const offerWritten = Effect.fnUntraced(function* ({ of }: Maps) {
  yield* offerRows("platform_workspaces", (tenant) => {
    const maps = of(tenant)
    const { workspace } = maps
    if (workspace === undefined) return []
    const remove = () => void (maps.workspace = undefined)
    const replace = (marked: unknown) => void (maps.workspace = marked as typeof workspace)
    return [{ value: workspace, texts: personal_texts.workspace, remove, replace }]
  })
  yield* offerRows("platform_frameworks", (tenant) => {
    const known = of(tenant).frameworks
    return Array.from(known, ([id, framework]) => ({
      value: framework,
      texts: personal_texts.framework,
      remove: () => void known.delete(id),
      replace: (marked) => void known.set(id, marked as typeof framework)
    }))
  })
  yield* offerRows("platform_systems", (tenant) => {
    const known = of(tenant).systems
    return Array.from(known, ([id, system]) => ({
      value: system.card,
      texts: personal_texts.system_card,
      remove: () => void known.delete(id),
      replace: (marked) => void known.set(id, { ...system, card: marked as SystemCard })
    }))
  })
  yield* offerDecisions({ of })
})

const offerDecisions = Effect.fnUntraced(function* ({ of }: Pick<Maps, "of">) {
  yield* offerRows("platform_changesets", (tenant) => {
    const known = of(tenant).changesets
    return Array.from(known, ([id, { changeset, state }]) => ({
      value: state,
      texts: personal_texts.changeset_state,
      remove: () => void known.delete(id),
      replace: (marked) => void known.set(id, { changeset, state: marked as typeof state })
    }))
  })
  yield* offerRows("platform_clusters", (tenant) => {
    const known = of(tenant).clusters
    return Array.from(known, ([id, { cluster, triage }]) => ({
      value: triage,
      texts: personal_texts.cluster_triage,
      remove: () => void known.delete(id),
      replace: (marked) => void known.set(id, { cluster, triage: marked as typeof triage })
    }))
  })
})

export const layer: Layer.Layer<PlatformStores, never, Outbox> = Layer.unwrap(
  Effect.gen(function* () {
    const maps = yield* PlatformMaps.PlatformMaps
    const outbox = yield* Outbox
    yield* offerDrafts(maps)
    yield* offerWritten(maps)
    return Layer.mergeAll(
      Layer.succeed(ScanReader, scans(maps)),
      Layer.succeed(ChangesetStore, changesets(maps)),
      Layer.succeed(FailureClusterReader, clusters(maps)),
      Layer.succeed(FailureClusterTriage, triage(maps)),
      Layer.succeed(WorkspaceReader, workspaces(maps)),
      Layer.succeed(WorkspaceSettings, settings(maps)),
      Layer.succeed(WorldViews, worldViews(maps)),
      Layer.succeed(DraftStore, drafts(maps)),
      Layer.succeed(RecordCounter, counter(maps)),
      Layer.succeed(RecordImporter, importer(maps, outbox))
    )
  })
).pipe(Layer.provide(PlatformMaps.layer))
