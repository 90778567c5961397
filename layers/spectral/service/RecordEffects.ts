/** The platform's published records, which are read and reviewed without an agent, a runtime or a journal. */
import { Effect } from "effect"
import type { ChangesetQuery } from "../../../services/spectral/platform/contracts/ChangesetStore.ts"
import { ChangesetStore } from "../../../services/spectral/platform/contracts/ChangesetStore.ts"
import { FailureClusterReader } from "../../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { ScanReader } from "../../../services/spectral/platform/contracts/ScanReader.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import * as RecordOperations from "../../../src/spectral/operations/RecordOperations.ts"
import type { ChangesetRecord } from "../../../src/spectral/platform/contracts/Changeset.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { boundedPage } from "../../../src/value/Pages.ts"
import { serve } from "../../service/Served.ts"

/** A page. If it has as many items as were asked for, there may be another page after it. */
const paged = <A, Id>(items: ReadonlyArray<A>, limit: number, idOf: (item: A) => Id) => {
  const last = items.at(-1)
  return last === undefined || items.length < limit ? { items } : { items, next_after: idOf(last) }
}

export const scans = serve(
  RecordOperations.listScans,
  Effect.fnUntraced(function* ({ limit = limit_default, ...query }, { tenant }) {
    const items = yield* ScanReader.use((reader) => reader.scans(tenant, { ...query, limit }))
    return paged(items, limit, ({ scan }) => scan.scan_id)
  })
)

export const scan = serve(RecordOperations.getScan, ({ scan_id }, { tenant }) =>
  ScanReader.use((reader) => reader.scan(tenant, scan_id))
)

export const failureClusters = serve(
  RecordOperations.listClusters,
  Effect.fnUntraced(function* ({ limit = limit_default, ...query }, { tenant }) {
    const reader = yield* FailureClusterReader
    const items = yield* reader.clusters(tenant, { ...query, limit })
    return paged(items, limit, ({ cluster }) => cluster.cluster_id)
  })
)

export const failureCluster = serve(RecordOperations.getCluster, ({ cluster_id }, { tenant }) =>
  FailureClusterReader.use((reader) => reader.cluster(tenant, cluster_id))
)

export const failures = serve(
  RecordOperations.listFailures,
  Effect.fnUntraced(function* ({ cluster_id, limit = limit_default, ...query }, { tenant }) {
    const reader = yield* FailureClusterReader
    yield* reader.cluster(tenant, cluster_id)
    const items = yield* reader.failures(tenant, cluster_id, { ...query, limit })
    return paged(items, limit, ({ failure_id }) => failure_id)
  })
)

/** A page of change sets, bounded in characters too: one change set may have 400,000. */
const changesetsOf = (tenant: Tenant, query: ChangesetQuery) =>
  ChangesetStore.use((store) =>
    boundedPage<ChangesetRecord, StoreError>(query.limit, (before, limit) =>
      store.changesets(tenant, {
        ...query,
        limit,
        after: before?.changeset.changeset_id ?? query.after
      })
    )
  )

export const changesets = serve(
  RecordOperations.listChangesets,
  Effect.fnUntraced(function* ({ limit = limit_default, ...query }, { tenant }) {
    const { items, last } = yield* changesetsOf(tenant, { ...query, limit })
    return last === undefined ? { items } : { items, next_after: last.changeset.changeset_id }
  })
)

export const changeset = serve(RecordOperations.getChangeset, ({ changeset_id }, { tenant }) =>
  ChangesetStore.use((store) => store.changeset(tenant, changeset_id))
)

export const reviewChangeset = serve(
  RecordOperations.review,
  ({ changeset_id, decision, note }, { id, tenant }) =>
    ChangesetStore.use((store) => store.review(tenant, changeset_id, { decision, note, by: id }))
)
