/**
 * The operations on the platform's published records of a workspace, which is the caller's tenant. They read from the stores,
 * whether an agent runs or not.
 */
import { Effect, Schema } from "effect"
import { operation } from "../../operation/Operation.ts"
import { Limit } from "../../operation/Page.ts"
import { ChangesetRecord, ChangesetStatus, ReviewNote } from "../platform/contracts/Changeset.ts"
import {
  ClusterRecord,
  ClusterSeverity,
  ClusterStatus,
  LinkedFailure
} from "../platform/contracts/FailureCluster.ts"
import { ChangesetId, ClusterId, RecordId, ScanId } from "../platform/contracts/Fact.ts"
import { ScanRecord, ScanStatus } from "../platform/contracts/Scan.ts"

const limit = Schema.optionalKey(Limit)

/** A page of items. `next_after` is the `after` of the next page; absent = this is the last page. */
const pageOf = <Item extends Schema.Codec<unknown, unknown>, Id extends Schema.Codec<string>>(
  item: Item,
  id: Id
) => Schema.Struct({ items: Schema.Array(item), next_after: Schema.optionalKey(id) })

export const listScans = operation({
  id: "listScans",
  name: "scans",
  method: "GET",
  path: "/v1/scans",
  query: Schema.Struct({
    status: Schema.optionalKey(ScanStatus),
    limit,
    after: Schema.optionalKey(ScanId)
  }),
  success: pageOf(ScanRecord, ScanId),
  problems: [404],
  right: "inspect",
  gives: "items",
  summary: "Scans with verdict and scores, newest first"
})

export const getScan = operation({
  id: "getScan",
  name: "scan",
  method: "GET",
  path: "/v1/scans/:scan_id",
  params: Schema.Struct({ scan_id: ScanId }),
  success: ScanRecord,
  problems: [404],
  right: "inspect",
  args: ["scan_id"],
  summary: "A scan with its verdict and scores"
})

const cluster = Schema.Struct({ cluster_id: ClusterId })

export const listClusters = operation({
  id: "listClusters",
  name: "failureClusters",
  method: "GET",
  path: "/v1/failure-clusters",
  query: Schema.Struct({
    severity: Schema.optionalKey(ClusterSeverity),
    status: Schema.optionalKey(ClusterStatus),
    limit,
    after: Schema.optionalKey(ClusterId)
  }),
  success: pageOf(ClusterRecord, ClusterId),
  problems: [404],
  right: "inspect",
  gives: "items",
  summary: "Failure clusters, the most severe first"
})

export const getCluster = operation({
  id: "getCluster",
  name: "failureCluster",
  method: "GET",
  path: "/v1/failure-clusters/:cluster_id",
  params: cluster,
  success: ClusterRecord,
  problems: [404],
  right: "inspect",
  args: ["cluster_id"],
  summary: "A failure cluster with its triage"
})

export const listFailures = operation({
  id: "listFailures",
  name: "failures",
  method: "GET",
  path: "/v1/failure-clusters/:cluster_id/failures",
  params: cluster,
  query: Schema.Struct({ limit, after: Schema.optionalKey(RecordId) }),
  success: pageOf(LinkedFailure, RecordId),
  problems: [404],
  right: "inspect",
  args: ["cluster_id"],
  gives: "items",
  summary: "The failures of a cluster, newest first"
})

const changeset = Schema.Struct({ changeset_id: ChangesetId })

export const listChangesets = operation({
  id: "listChangesets",
  name: "changesets",
  method: "GET",
  path: "/v1/changesets",
  query: Schema.Struct({
    status: Schema.optionalKey(ChangesetStatus),
    limit,
    after: Schema.optionalKey(ChangesetId)
  }),
  success: pageOf(ChangesetRecord, ChangesetId),
  problems: [404],
  right: "inspect",
  gives: "items",
  summary: "Change sets with their review, newest first"
})

export const getChangeset = operation({
  id: "getChangeset",
  name: "changeset",
  method: "GET",
  path: "/v1/changesets/:changeset_id",
  params: changeset,
  success: ChangesetRecord,
  problems: [404],
  right: "inspect",
  args: ["changeset_id"],
  summary: "A change set with its review"
})

/** To review change sets is no decision about a call. */
const review_right = { approver: "all", operator: "all" } as const

export const review = operation({
  id: "review",
  name: "reviewChangeset",
  method: "POST",
  path: "/v1/changesets/:changeset_id/review",
  params: changeset,
  payload: Schema.Struct({
    decision: Schema.Literals(["approved", "rejected"]),
    note: ReviewNote.pipe(Schema.withDecodingDefaultKey(Effect.succeed("")))
  }),
  success: ChangesetRecord,
  problems: [404, 409],
  right: review_right,
  args: ["changeset_id"],
  summary: "Approve or reject a change set, once"
})
