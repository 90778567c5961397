/**
 * Scans, change sets and failure clusters in SQL. A step of a change set, or a triage, commits with the transaction of the call
 * that makes it.
 */
import { Clock, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { ChangesetStore } from "../../../../services/spectral/platform/contracts/ChangesetStore.ts"
import type { FailureClusterReader } from "../../../../services/spectral/platform/contracts/FailureClusterReader.ts"
import type { ScanReader } from "../../../../services/spectral/platform/contracts/ScanReader.ts"
import type { FailureClusterTriage } from "../../../../services/spectral/platform/FailureClusterTriage.ts"
import type { Tenant } from "../../../../src/value/Ids.ts"
import {
  appliedChangeset,
  reviewedChangeset
} from "../../../../src/spectral/platform/ChangesetSteps.ts"
import {
  Changeset,
  ChangesetState,
  ChangesetStatus
} from "../../../../src/spectral/platform/contracts/Changeset.ts"
import type { ChangesetRecord } from "../../../../src/spectral/platform/contracts/Changeset.ts"
import {
  ClusterStatus,
  ClusterTriage,
  FailureCluster,
  LinkedFailure,
  severityRank
} from "../../../../src/spectral/platform/contracts/FailureCluster.ts"
import { ScanRecord, ScanStatus } from "../../../../src/spectral/platform/contracts/Scan.ts"
import { readableRows, rowDecoder } from "../../engine/DecodedRows.ts"
import { inTransaction, orStoreError } from "../../engine/SqlFailure.ts"
import { firstOf, oneOf, pageReader } from "./RecordRows.ts"
import type { RecordReads } from "./RecordRows.ts"

type Sql = SqlClient.SqlClient

const ScanRow = Schema.Struct({ record: Schema.fromJsonString(ScanRecord) })
const decodeScans = rowDecoder(ScanRow, "scans")
const readScans = readableRows(ScanRow, "scans")

export const scanStatus = (status: ScanStatus): number => ScanStatus.literals.indexOf(status)

export const scans = (of: RecordReads): ScanReader["Service"] => {
  const page = pageReader(of, {
    table: "platform_scans",
    columns: "record",
    id: "scan_id",
    order: ["started_at", "scan_id"],
    direction: "DESC",
    filters: [["status", "int2"]],
    read: readScans
  })
  const one = oneOf(
    of,
    "SELECT record FROM troupe.platform_scans WHERE tenant = $1::text AND scan_id = $2::text",
    decodeScans,
    "scan"
  )
  return {
    scans: (tenant, { status, ...query }) =>
      Effect.map(
        page(tenant, query, status === undefined ? undefined : scanStatus(status)),
        (rows) => rows.map(({ record }) => record)
      ),
    scan: (tenant, id) =>
      Effect.mapBoth(one(tenant, id), {
        onSuccess: ({ record }) => record,
        onFailure: orStoreError
      })
  }
}

const ChangesetRow = Schema.Struct({
  changeset: Schema.fromJsonString(Changeset),
  state: Schema.fromJsonString(ChangesetState)
})
const decodeChangesets = rowDecoder(ChangesetRow, "change sets")
const readChangesets = readableRows(ChangesetRow, "change sets")

const changeset_by_id =
  "SELECT changeset, state FROM troupe.platform_changesets WHERE tenant = $1::text AND changeset_id = $2::text"

export const changesetStatus = (status: ChangesetStatus): number =>
  ChangesetStatus.literals.indexOf(status)

/** Makes the function that takes a step of a change set, with its row locked. */
const stepTaker = (of: RecordReads) => {
  const { sql } = of
  const locked = oneOf(of, `${changeset_by_id} FOR UPDATE`, decodeChangesets, "change set")
  return (
    tenant: Tenant,
    id: string,
    step: (record: ChangesetRecord, now: number) => ReturnType<typeof appliedChangeset>
  ) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const next = yield* Effect.fromResult(step(yield* locked(tenant, id), now))
      yield* sql.unsafe(
        `UPDATE troupe.platform_changesets SET status = $3::int2, state = $4::text
         WHERE tenant = $1::text AND changeset_id = $2::text`,
        [tenant, id, changesetStatus(next.state.status), JSON.stringify(next.state)]
      )
      return next
    }).pipe(inTransaction(sql), Effect.mapError(orStoreError))
}

export const changesets = (of: RecordReads): ChangesetStore["Service"] => {
  const page = pageReader(of, {
    table: "platform_changesets",
    columns: "changeset, state",
    id: "changeset_id",
    order: ["proposed_at", "changeset_id"],
    direction: "DESC",
    filters: [["status", "int2"]],
    read: readChangesets
  })
  const one = oneOf(of, changeset_by_id, decodeChangesets, "change set")
  const take = stepTaker(of)
  return {
    changesets: (tenant, { status, ...query }) =>
      page(tenant, query, status === undefined ? undefined : changesetStatus(status)),
    changeset: (tenant, id) => Effect.mapError(one(tenant, id), orStoreError),
    review: (tenant, id, review) =>
      take(tenant, id, (record, now) => reviewedChangeset(record, review, now)),
    apply: (tenant, id, by) => take(tenant, id, (record, now) => appliedChangeset(record, by, now))
  }
}

const ClusterRow = Schema.Struct({
  cluster: Schema.fromJsonString(FailureCluster),
  triage: Schema.fromJsonString(ClusterTriage)
})
const decodeClusters = rowDecoder(ClusterRow, "failure clusters")
const readClusters = readableRows(ClusterRow, "failure clusters")
const readFailures = readableRows(
  Schema.Struct({ failure: Schema.fromJsonString(LinkedFailure) }),
  "failures"
)

const clusterStatus = (status: ClusterStatus): number => ClusterStatus.literals.indexOf(status)

export const clusters = (of: RecordReads): FailureClusterReader["Service"] => {
  const page = pageReader(of, {
    table: "platform_clusters",
    columns: "cluster, triage",
    id: "cluster_id",
    order: ["severity", "(-last_seen_at)", "cluster_id"],
    direction: "ASC",
    filters: [
      ["severity", "int2"],
      ["status", "int2"]
    ],
    read: readClusters
  })
  const failures = pageReader(of, {
    table: "platform_failures",
    columns: "failure",
    id: "failure_id",
    order: ["occurred_at", "failure_id"],
    direction: "DESC",
    filters: [["cluster_id", "text"]],
    // A page that continues after a failure of another cluster is empty.
    within: true,
    read: readFailures
  })
  const one = oneOf(
    of,
    "SELECT cluster, triage FROM troupe.platform_clusters WHERE tenant = $1::text AND cluster_id = $2::text",
    decodeClusters,
    "failure cluster"
  )
  return {
    clusters: (tenant, { severity, status, ...query }) =>
      page(
        tenant,
        query,
        severity === undefined ? undefined : severityRank(severity),
        status === undefined ? undefined : clusterStatus(status)
      ),
    cluster: (tenant, id) => Effect.mapError(one(tenant, id), orStoreError),
    failures: (tenant, id, query) =>
      Effect.map(failures(tenant, query, id), (rows) => rows.map(({ failure }) => failure))
  }
}

export const triage = (sql: Sql): FailureClusterTriage["Service"] => ({
  triage: Effect.fnUntraced(function* (tenant, id, { by, notes, status }) {
    const triaged_at = yield* Clock.currentTimeMillis
    const next: ClusterTriage = { status, notes, triaged_by: by, triaged_at }
    const rows = yield* sql.unsafe(
      `UPDATE troupe.platform_clusters SET status = $3::int2, triage = $4::text
       WHERE tenant = $1::text AND cluster_id = $2::text RETURNING cluster, triage`,
      [tenant, id, clusterStatus(status), JSON.stringify(next)]
    )
    return yield* firstOf(yield* decodeClusters(rows), "failure cluster", id)
  }, Effect.mapError(orStoreError))
})
