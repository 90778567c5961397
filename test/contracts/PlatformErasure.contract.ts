/** What an erasure does to the records of workspaces, on every store alike. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Outbox } from "../../services/Outbox.ts"
import { ChangesetStore } from "../../services/spectral/platform/contracts/ChangesetStore.ts"
import { FailureClusterReader } from "../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { ScanReader } from "../../services/spectral/platform/contracts/ScanReader.ts"
import { DraftStore } from "../../services/spectral/platform/contracts/DraftStore.ts"
import { FailureClusterTriage } from "../../services/spectral/platform/FailureClusterTriage.ts"
import type { PlatformStores } from "../../services/spectral/platform/PlatformStores.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { WorkspaceSettings } from "../../services/spectral/platform/WorkspaceSettings.ts"
import { personal_texts } from "../../src/spectral/platform/contracts/RecordTexts.ts"
import { WorkspaceReader } from "../../services/spectral/platform/WorkspaceReader.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { ChangesetRecord } from "../../src/spectral/platform/contracts/Changeset.ts"
import {
  ClusterRecord,
  ClusterStatus,
  LinkedFailure
} from "../../src/spectral/platform/contracts/FailureCluster.ts"
import { FrameworkId, SystemId } from "../../src/spectral/platform/contracts/Fact.ts"
import { ScanRecord } from "../../src/spectral/platform/contracts/Scan.ts"
import { Draft } from "../../src/spectral/platform/contracts/Draft.ts"
import { Framework } from "../../src/spectral/platform/Framework.ts"
import { SystemCard } from "../../src/spectral/platform/contracts/SystemCard.ts"
import { Workspace, WorkspaceError } from "../../src/spectral/platform/Workspace.ts"
import { isFull } from "../Long.ts"
import { sample } from "../platform/Records.ts"
import { literalsOf } from "../platform/SchemaWords.ts"
import { contract } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = PlatformStores | Outbox | SubjectErasure

/** All that is kept of a workspace. */
const schemas = [
  ChangesetRecord,
  ClusterRecord,
  Draft,
  Framework,
  LinkedFailure,
  ScanRecord,
  SystemCard,
  Workspace,
  WorkspaceError
]

/** Some members, and ids that the sample has. */
const further = "status reviewed closed notes support-bot draft-1"

/** Records in every state that people give them, with texts that say nothing else. */
const decided = Effect.fnUntraced(function* (tenant: Tenant) {
  const text = "zzz"
  const step = { by: text, note: text, notes: text, reason: text }
  yield* RecordImporter.use((importer) => importer.record(tenant, sample))
  const clusters = ["no-source", "rude", "wrong-deadline", "old-price"]
  for (const [i, status] of ClusterStatus.literals.slice(1).entries()) {
    yield* FailureClusterTriage.use((store) =>
      store.triage(tenant, clusters[i]!, { ...step, status })
    )
  }
  const changesets = yield* ChangesetStore
  yield* changesets.review(tenant, "change-1", { ...step, decision: "approved" })
  yield* changesets.apply(tenant, "change-1", text)
  yield* changesets.review(tenant, "change-2", { ...step, decision: "rejected" })
  const drafts = yield* DraftStore
  const framework_id = FrameworkId.make("support")
  const rubric = { kind: "rubric", framework_id, rubric_id: "tone", title: text } as const
  const card = { kind: "system_card", system_id: SystemId.make("support-bot") } as const
  const author = (call: string) => ({ run: "run-1", call, principal: text })
  yield* drafts.write(tenant, { ...rubric, threshold: 0.7 }, author("0/1.0"))
  yield* drafts.publish(tenant, "draft-1", { ...step, target_id: "tone", based_on: 1 })
  yield* drafts.write(tenant, { ...card, title: text, owner: text }, author("0/2.0"))
  yield* drafts.publish(tenant, "draft-2", { ...step, target_id: "support-bot", based_on: 1 })
  yield* drafts.write(tenant, { ...rubric, threshold: 0.8 }, author("0/3.0"))
  yield* drafts.withdraw(tenant, "draft-3", step)
  yield* drafts.write(tenant, { ...rubric, threshold: 0.9 }, author("0/4.0"))
  const settings = yield* WorkspaceSettings
  const change = { version: 1, sample_share: 0.4, reason: text }
  yield* settings.changeConfiguration(tenant, change, text)
})

/** What a record is, whatever its texts say: those of the sample have some of the words. */
const shapeOf = (record: object, texts: ReadonlySet<string>): unknown => {
  const blank = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(blank) : typeof value === "string" ? "" : value
  const text = JSON.stringify(record, (name, value: unknown) =>
    texts.has(name) ? blank(value) : value
  )
  return JSON.parse(text)
}

/** All that is kept. */
const kept = Effect.fnUntraced(function* (tenant: Tenant) {
  const page = { limit: 100 }
  const changesets = yield* ChangesetStore.use((store) => store.changesets(tenant, page))
  const clusters = yield* FailureClusterReader.use((store) => store.clusters(tenant, page))
  const drafts = yield* DraftStore.use((store) => store.drafts(tenant, page))
  const read = yield* Effect.all({
    scans: ScanReader.use((reader) => reader.scans(tenant, page)),
    failures: FailureClusterReader.use((reader) => reader.failures(tenant, "no-source", page)),
    workspace: WorkspaceReader.use((reader) => reader.workspace(tenant)),
    frameworks: WorkspaceReader.use((reader) => reader.frameworks(tenant)),
    card: WorkspaceReader.use((reader) => reader.systemCard(tenant, "support-bot")),
    errors: WorkspaceReader.use((reader) => reader.errors(tenant, page))
  })
  const { card, frameworks, workspace, ...found } = read
  const shapes = {
    card: shapeOf(card, personal_texts.system_card),
    frameworks: frameworks.map((each) => shapeOf(each, personal_texts.framework)),
    workspace: shapeOf(workspace, personal_texts.workspace),
    contents: drafts.map(({ content }) => shapeOf(content, personal_texts.draft))
  }
  const decided = drafts.map(({ author, draft_id, state, title }) => {
    return { author, draft_id, state, title }
  })
  const written = { card, frameworks, workspace, drafts: decided, changesets, clusters }
  return { found, shapes, decided: { changesets, clusters, drafts: decided }, written }
})

const words = Effect.gen(function* () {
  const tenant = Samples.tenant()
  yield* decided(tenant)
  const before = yield* kept(tenant)
  const erasure = yield* SubjectErasure
  const literals = literalsOf(...schemas)
  assert.includeMembers([...literals], ["approved", "resolved", "withdrawn"])
  for (const subject of [...literals, ...further.split(" ")]) {
    yield* erasure.erase({ tenant, subject, by: "root" })
    const { written: _now, ...now } = yield* kept(tenant)
    const { written: _then, ...then } = before
    assert.deepStrictEqual(now, then, subject)
  }
  const { erased } = yield* erasure.erase({ tenant, subject: "zzz", by: "root" })
  assert.deepInclude(erased, {
    platform_changesets: 2,
    platform_clusters: 4,
    platform_drafts: 4,
    platform_frameworks: 1,
    platform_systems: 1,
    platform_workspaces: 1
  })
  const { found, shapes, written } = yield* kept(tenant)
  assert.notInclude(JSON.stringify(written), "zzz")
  assert.deepStrictEqual([found, shapes], [before.found, before.shapes])
})

export const platformErasureContract = contract<Needs>("PlatformErasure", (it) => {
  if (isFull) {
    it.effect(
      "a subject with the name of a state, a member or an id breaks no record, and their texts are found",
      () => words
    )
  }

  it.effect(
    "an erased name stands in no triage, review or application, and what was found stays",
    () =>
      Effect.gen(function* () {
        const [tenant, other] = [Samples.tenant(), Samples.tenant()]
        const changesets = yield* ChangesetStore
        const clusters = yield* FailureClusterReader
        const decided = (whose: Tenant) =>
          Effect.gen(function* () {
            yield* RecordImporter.use((importer) => importer.record(whose, sample))
            const triage = { status: "resolved", notes: "olga knows why", by: "olga" } as const
            yield* FailureClusterTriage.use((store) => store.triage(whose, "rude", triage))
            const review = { decision: "approved", note: "As olga asked", by: "olga" } as const
            yield* changesets.review(whose, "change-1", review)
            yield* changesets.apply(whose, "change-1", "olga")
          })
        const records = (whose: Tenant) =>
          Effect.all({
            cluster: clusters.cluster(whose, "rude"),
            changeset: changesets.changeset(whose, "change-1")
          })
        yield* decided(tenant)
        yield* decided(other)
        const before = yield* records(other)
        const erasure = yield* SubjectErasure
        const { erased } = yield* erasure.erase({ tenant, subject: "olga", by: "root" })
        assert.deepInclude(erased, { platform_clusters: 1, platform_changesets: 1 })
        const { changeset, cluster } = yield* records(tenant)
        assert.notInclude(JSON.stringify([changeset.state, cluster.triage]), "olga")
        assert.include(changeset.state.reviewed?.note, "erased")
        assert.include(changeset.state.reviewed?.by, "erased")
        assert.include(changeset.state.applied?.by, "erased")
        assert.include(cluster.triage.notes, "erased")
        assert.include(cluster.triage.triaged_by, "erased")
        assert.deepStrictEqual(changeset.changeset, before.changeset.changeset)
        assert.deepStrictEqual(cluster.cluster, before.cluster.cluster)
        assert.strictEqual(changeset.state.status, before.changeset.state.status)
        assert.strictEqual(cluster.triage.status, "resolved")
        assert.deepStrictEqual(yield* records(other), before)
        const again = yield* erasure.erase({ tenant, subject: "olga", by: "root" })
        assert.notProperty(again.erased, "platform_clusters")
        assert.notProperty(again.erased, "platform_changesets")
      })
  )
})
