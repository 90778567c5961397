/**
 * Scans, change sets and failure clusters. A step of a change set, or a triage, commits with the transaction of the call that
 * makes it.
 */
import { Clock, Effect } from "effect"
import type { ChangesetStore } from "../../../../services/spectral/platform/contracts/ChangesetStore.ts"
import type { FailureClusterReader } from "../../../../services/spectral/platform/contracts/FailureClusterReader.ts"
import type { ScanReader } from "../../../../services/spectral/platform/contracts/ScanReader.ts"
import type { FailureClusterTriage } from "../../../../services/spectral/platform/FailureClusterTriage.ts"
import type { Rows } from "../../../../services/Rows.ts"
import type { Tenant } from "../../../../src/value/Ids.ts"
import {
  appliedChangeset,
  reviewedChangeset
} from "../../../../src/spectral/platform/ChangesetSteps.ts"
import type { ChangesetRecord } from "../../../../src/spectral/platform/contracts/Changeset.ts"
import { tableRows } from "../../TypedRows.ts"
import * as Tables from "./PlatformTables.ts"
import { orNotFound, pageLimit } from "./PlatformTables.ts"

type Driver = Rows["Service"]

export const scans = (driver: Driver): ScanReader["Service"] => {
  const rows = tableRows(driver, Tables.scans)
  return {
    scans: (tenant, { after, limit, status }) =>
      Effect.map(
        rows.list({
          where: { tenant, status },
          order: ["started_at", "scan_id"],
          descends: true,
          after: after === undefined ? undefined : { tenant, scan_id: after },
          limit: pageLimit(limit)
        }),
        (found) => found.map(({ record }) => record)
      ),
    scan: (tenant, scan_id) =>
      rows.one({ tenant, scan_id }).pipe(
        orNotFound("scan", scan_id),
        Effect.map(({ record }) => record)
      )
  }
}

export const changesets = (driver: Driver): ChangesetStore["Service"] => {
  const rows = tableRows(driver, Tables.changesets)
  const get = (tenant: Tenant, changeset_id: string, lock?: "wait") =>
    rows.one({ tenant, changeset_id }, lock).pipe(
      orNotFound("change set", changeset_id),
      Effect.map(({ changeset, state }): ChangesetRecord => ({ changeset, state }))
    )
  /** Takes a step of a change set, with its row locked. */
  const take = Effect.fnUntraced(function* (
    tenant: Tenant,
    changeset_id: string,
    step: (record: ChangesetRecord, now: number) => ReturnType<typeof appliedChangeset>
  ) {
    const now = yield* Clock.currentTimeMillis
    const next = yield* Effect.fromResult(step(yield* get(tenant, changeset_id, "wait"), now))
    const { state } = next
    yield* rows.set({ where: { tenant, changeset_id } }, { status: state.status, state })
    return next
  }, driver.transaction)
  return {
    changesets: (tenant, { after, limit, status }) =>
      Effect.map(
        rows.list({
          where: { tenant, status },
          order: ["proposed_at", "changeset_id"],
          descends: true,
          after: after === undefined ? undefined : { tenant, changeset_id: after },
          limit: pageLimit(limit)
        }),
        (found) => found.map(({ changeset, state }) => ({ changeset, state }))
      ),
    changeset: (tenant, id) => get(tenant, id),
    review: (tenant, id, review) =>
      take(tenant, id, (record, now) => reviewedChangeset(record, review, now)),
    apply: (tenant, id, by) => take(tenant, id, (record, now) => appliedChangeset(record, by, now))
  }
}

export const clusters = (
  driver: Driver
): FailureClusterReader["Service"] & FailureClusterTriage["Service"] => {
  const rows = tableRows(driver, Tables.clusters)
  const failures = tableRows(driver, Tables.failures)
  const get = (tenant: Tenant, cluster_id: string) =>
    rows.one({ tenant, cluster_id }).pipe(
      orNotFound("failure cluster", cluster_id),
      Effect.map(({ cluster, triage }) => ({ cluster, triage }))
    )
  return {
    clusters: (tenant, { after, limit, severity, status }) =>
      Effect.map(
        rows.list({
          where: { tenant, severity, status },
          order: ["severity", "-last_seen_at", "cluster_id"],
          after: after === undefined ? undefined : { tenant, cluster_id: after },
          limit: pageLimit(limit)
        }),
        (found) => found.map(({ cluster, triage }) => ({ cluster, triage }))
      ),
    cluster: get,
    failures: (tenant, cluster_id, { after, limit }) =>
      Effect.map(
        failures.list({
          where: { tenant, cluster_id },
          order: ["occurred_at", "failure_id"],
          descends: true,
          // A page that continues after a failure of another cluster is empty.
          after: after === undefined ? undefined : { tenant, failure_id: after, cluster_id },
          limit: pageLimit(limit)
        }),
        (found) => found.map(({ failure }) => failure)
      ),
    triage: Effect.fnUntraced(function* (tenant, cluster_id, { by, notes, status }) {
      const triaged_at = yield* Clock.currentTimeMillis
      const triage = { status, notes, triaged_by: by, triaged_at }
      yield* rows.set({ where: { tenant, cluster_id } }, { status, triage })
      return yield* get(tenant, cluster_id)
    }, driver.transaction)
  }
}
