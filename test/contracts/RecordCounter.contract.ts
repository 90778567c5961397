/** Counts of a workspace's records, on every store alike. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Outbox } from "../../services/Outbox.ts"
import { ChangesetStore } from "../../services/spectral/platform/contracts/ChangesetStore.ts"
import { DraftStore } from "../../services/spectral/platform/contracts/DraftStore.ts"
import { FailureClusterTriage } from "../../services/spectral/platform/FailureClusterTriage.ts"
import type { PlatformStores } from "../../services/spectral/platform/PlatformStores.ts"
import { RecordCounter } from "../../services/spectral/platform/RecordCounter.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { SystemId } from "../../src/spectral/platform/contracts/Fact.ts"
import { sample } from "../platform/Records.ts"
import { contract } from "./Contract.ts"
import * as Samples from "./Samples.ts"

/** A new workspace with the sample's records. */
const filled = Effect.gen(function* () {
  const tenant = Samples.tenant()
  yield* RecordImporter.use((importer) => importer.record(tenant, sample))
  return tenant
})

const countsOf = (tenant: Tenant) => RecordCounter.use((counter) => counter.counts(tenant))

/** Four drafts, of which one is published and one withdrawn. */
const drafted = Effect.fnUntraced(function* (tenant: Tenant) {
  const store = yield* DraftStore
  const ids: Array<string> = []
  for (let n = 0; n < 4; n++) {
    const proposal = {
      kind: "system_card",
      system_id: SystemId.make("support-bot"),
      title: "What it does badly",
      add_limits: [`limit ${n}`]
    } as const
    const author = { run: "run-1", call: `0/${n}.0`, principal: "olga" }
    ids.push((yield* store.write(tenant, proposal, author)).draft_id)
  }
  const [published, withdrawn] = ids as [string, string]
  const closing = { by: "ada", reason: "Agreed on Monday." }
  yield* store.publish(tenant, published, { ...closing, target_id: "support-bot", based_on: 1 })
  yield* store.withdraw(tenant, withdrawn, closing)
})

export const recordCounterContract = contract<PlatformStores | Outbox>("RecordCounter", (it) => {
  it.effect("SA-46 counts say how many records of the tenant alone are in each state", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      const other = yield* filled
      const before = {
        scans: { queued: 0, running: 0, completed: 2, failed: 1 },
        changesets: { proposed: 2, approved: 0, rejected: 0, applied: 0 },
        clusters: { new: 4, acknowledged: 0, in_progress: 0, resolved: 0, dismissed: 0 },
        open_clusters: { critical: 1, high: 2, medium: 0, low: 1 },
        drafts: { draft: 0, published: 0, withdrawn: 0 }
      }
      assert.deepEqual(yield* countsOf(tenant), before)
      const triage = yield* FailureClusterTriage
      const statuses = { rude: "resolved", "old-price": "dismissed", "no-source": "in_progress" }
      for (const [id, status] of Object.entries(statuses)) {
        const given = { status: status as "resolved", notes: "Seen.", by: "olga" }
        yield* triage.triage(tenant, id, given)
      }
      const store = yield* ChangesetStore
      yield* store.review(tenant, "change-1", { decision: "approved", note: "", by: "ada" })
      yield* store.apply(tenant, "change-1", "cara")
      yield* store.review(tenant, "change-2", { decision: "rejected", note: "", by: "ada" })
      yield* drafted(tenant)
      assert.deepEqual(yield* countsOf(tenant), {
        scans: before.scans,
        changesets: { proposed: 0, approved: 0, rejected: 1, applied: 1 },
        clusters: { new: 1, acknowledged: 0, in_progress: 1, resolved: 1, dismissed: 1 },
        open_clusters: { critical: 1, high: 1, medium: 0, low: 0 },
        drafts: { draft: 2, published: 1, withdrawn: 1 }
      })
      assert.deepEqual(yield* countsOf(other), before)
    })
  )

  it.effect("counts of a workspace without records are 0 in every state", () =>
    Effect.gen(function* () {
      yield* filled
      assert.deepEqual(yield* countsOf(Samples.tenant()), {
        scans: { queued: 0, running: 0, completed: 0, failed: 0 },
        changesets: { proposed: 0, approved: 0, rejected: 0, applied: 0 },
        clusters: { new: 0, acknowledged: 0, in_progress: 0, resolved: 0, dismissed: 0 },
        open_clusters: { critical: 0, high: 0, medium: 0, low: 0 },
        drafts: { draft: 0, published: 0, withdrawn: 0 }
      })
    })
  )
})
