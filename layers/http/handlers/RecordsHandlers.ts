/**
 * Handlers of the platform's published records, which use only their stores: no agent, no runtime and no journal is involved. A
 * service without these stores answers 404.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { ChangesetStore } from "../../../services/spectral/platform/contracts/ChangesetStore.ts"
import type { ChangesetQuery } from "../../../services/spectral/platform/contracts/ChangesetStore.ts"
import { FailureClusterReader } from "../../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { ScanReader } from "../../../services/spectral/platform/contracts/ScanReader.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { ChangesetRecord } from "../../../src/spectral/platform/contracts/Changeset.ts"
import { boundedPage } from "../../../src/value/Pages.ts"
import { kept } from "./KeptRecords.ts"
import { problemOf } from "../boundary/Problems.ts"

/** A page. If it has as many items as were asked for, there may be another page after it. */
const paged = <A, Id>(items: ReadonlyArray<A>, limit: number, idOf: (item: A) => Id) => {
  const last = items.at(-1)
  return last === undefined || items.length < limit ? { items } : { items, next_after: idOf(last) }
}

const make = Effect.gen(function* () {
  const scans = yield* Effect.serviceOption(ScanReader)
  const clusters = yield* Effect.serviceOption(FailureClusterReader)
  const changesets = yield* Effect.serviceOption(ChangesetStore)
  return { scans: kept(scans), clusters: kept(clusters), changesets: kept(changesets) }
})

/** A page of change sets, bounded in characters too: one change set may have 400,000. */
const changesetsOf = Effect.fnUntraced(function* (
  store: ChangesetStore["Service"],
  tenant: Tenant,
  query: ChangesetQuery
) {
  const { items, last } = yield* boundedPage<ChangesetRecord, StoreError>(
    query.limit,
    (before, limit) =>
      store.changesets(tenant, {
        ...query,
        limit,
        after: before?.changeset.changeset_id ?? query.after
      })
  ).pipe(Effect.mapError(problemOf))
  return last === undefined ? { items } : { items, next_after: last.changeset.changeset_id }
})

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "records">,
  never,
  Authentication | Validation | RequestBody
> = HttpApiBuilder.group(
  TroupeApi,
  "records",
  Effect.fnUntraced(function* (handlers) {
    const ports = yield* make

    return handlers.handleAll({
      listScans: Effect.fnUntraced(function* ({ query }) {
        const { tenant } = yield* CurrentPrincipal
        const { limit = limit_default } = query
        const reader = yield* ports.scans
        const items = yield* Effect.mapError(reader.scans(tenant, { ...query, limit }), problemOf)
        return paged(items, limit, ({ scan }) => scan.scan_id)
      }),
      getScan: Effect.fnUntraced(function* ({ params }) {
        const { tenant } = yield* CurrentPrincipal
        const reader = yield* ports.scans
        return yield* Effect.mapError(reader.scan(tenant, params.scan_id), (e) => problemOf(e))
      }),
      listClusters: Effect.fnUntraced(function* ({ query }) {
        const { tenant } = yield* CurrentPrincipal
        const { limit = limit_default } = query
        const reader = yield* ports.clusters
        const found = reader.clusters(tenant, { ...query, limit })
        const items = yield* Effect.mapError(found, problemOf)
        return paged(items, limit, (item) => item.cluster.cluster_id)
      }),
      getCluster: Effect.fnUntraced(function* ({ params }) {
        const { tenant } = yield* CurrentPrincipal
        const reader = yield* ports.clusters
        return yield* Effect.mapError(reader.cluster(tenant, params.cluster_id), (e) =>
          problemOf(e)
        )
      }),
      listFailures: Effect.fnUntraced(function* ({ params, query }) {
        const { tenant } = yield* CurrentPrincipal
        const { limit = limit_default } = query
        const { cluster_id } = params
        const reader = yield* ports.clusters
        yield* Effect.mapError(reader.cluster(tenant, cluster_id), (e) => problemOf(e))
        const found = reader.failures(tenant, cluster_id, { ...query, limit })
        const items = yield* Effect.mapError(found, problemOf)
        return paged(items, limit, ({ failure_id }) => failure_id)
      }),
      listChangesets: Effect.fnUntraced(function* ({ query }) {
        const { tenant } = yield* CurrentPrincipal
        const { limit = limit_default } = query
        return yield* changesetsOf(yield* ports.changesets, tenant, { ...query, limit })
      }),
      getChangeset: Effect.fnUntraced(function* ({ params }) {
        const { tenant } = yield* CurrentPrincipal
        const store = yield* ports.changesets
        return yield* Effect.mapError(store.changeset(tenant, params.changeset_id), (e) =>
          problemOf(e)
        )
      }),
      review: Effect.fnUntraced(function* ({ params, payload }) {
        const { id, tenant } = yield* CurrentPrincipal
        const store = yield* ports.changesets
        return yield* Effect.mapError(
          store.review(tenant, params.changeset_id, { ...payload, by: id }),
          (e) => problemOf(e)
        )
      })
    })
  })
)
