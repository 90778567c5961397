/** What an erasure does to the records of workspaces, on every store alike. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Outbox } from "../../services/Outbox.ts"
import { ChangesetStore } from "../../services/platform/contracts/ChangesetStore.ts"
import { FailureClusterReader } from "../../services/platform/contracts/FailureClusterReader.ts"
import { FailureClusterTriage } from "../../services/platform/FailureClusterTriage.ts"
import type { PlatformStores } from "../../services/platform/PlatformStores.ts"
import { RecordImporter } from "../../services/platform/RecordImporter.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import type { Tenant } from "../../src/Ids.ts"
import { sample } from "../platform/Records.ts"
import { contract } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = PlatformStores | Outbox | SubjectErasure

export const platformErasureContract = contract<Needs>("PlatformErasure", (it) => {
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
