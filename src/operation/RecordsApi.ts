/**
 * The endpoints of the platform's published records of a workspace, which is the caller's tenant. They read from the stores,
 * whether an agent runs or not. If a service keeps no such records, each endpoint answers 404.
 */
import { Effect, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ChangesetRecord, ChangesetStatus, ReviewNote } from "../platform/contracts/Changeset.ts"
import {
  ClusterRecord,
  ClusterSeverity,
  ClusterStatus,
  LinkedFailure
} from "../platform/contracts/FailureCluster.ts"
import { ChangesetId, ClusterId, RecordId, ScanId } from "../platform/contracts/RecordId.ts"
import { ScanRecord, ScanStatus } from "../platform/contracts/Scan.ts"
import { Authentication, Needs, RequestBody, Validation } from "./Boundary.ts"
import { Limit } from "./Page.ts"
import { Problem404, Problem409 } from "./Problem.ts"

const limit = Schema.optionalKey(Limit)

/** A page of items. `next_after` is the `after` of the next page; absent = this is the last page. */
const pageOf = <Item extends Schema.Codec<unknown, unknown>, Id extends Schema.Codec<string>>(
  item: Item,
  id: Id
) => Schema.Struct({ items: Schema.Array(item), next_after: Schema.optionalKey(id) })

const listScans = HttpApiEndpoint.get("listScans", "/v1/scans", {
  query: { status: Schema.optionalKey(ScanStatus), limit, after: Schema.optionalKey(ScanId) },
  success: pageOf(ScanRecord, ScanId),
  error: Problem404
}).annotateMerge(OpenApi.annotations({ summary: "Scans with verdict and scores, newest first" }))

const getScan = HttpApiEndpoint.get("getScan", "/v1/scans/:scan_id", {
  params: { scan_id: ScanId },
  success: ScanRecord,
  error: Problem404
}).annotateMerge(OpenApi.annotations({ summary: "A scan with its verdict and scores" }))

const cluster = { cluster_id: ClusterId }

const listClusters = HttpApiEndpoint.get("listClusters", "/v1/failure-clusters", {
  query: {
    severity: Schema.optionalKey(ClusterSeverity),
    status: Schema.optionalKey(ClusterStatus),
    limit,
    after: Schema.optionalKey(ClusterId)
  },
  success: pageOf(ClusterRecord, ClusterId),
  error: Problem404
}).annotateMerge(OpenApi.annotations({ summary: "Failure clusters, the most severe first" }))

const getCluster = HttpApiEndpoint.get("getCluster", "/v1/failure-clusters/:cluster_id", {
  params: cluster,
  success: ClusterRecord,
  error: Problem404
}).annotateMerge(OpenApi.annotations({ summary: "A failure cluster with its triage" }))

const listFailures = HttpApiEndpoint.get(
  "listFailures",
  "/v1/failure-clusters/:cluster_id/failures",
  {
    params: cluster,
    query: { limit, after: Schema.optionalKey(RecordId) },
    success: pageOf(LinkedFailure, RecordId),
    error: Problem404
  }
).annotateMerge(OpenApi.annotations({ summary: "The failures of a cluster, newest first" }))

const changeset = { changeset_id: ChangesetId }

const listChangesets = HttpApiEndpoint.get("listChangesets", "/v1/changesets", {
  query: {
    status: Schema.optionalKey(ChangesetStatus),
    limit,
    after: Schema.optionalKey(ChangesetId)
  },
  success: pageOf(ChangesetRecord, ChangesetId),
  error: Problem404
}).annotateMerge(OpenApi.annotations({ summary: "Change sets with their review, newest first" }))

const getChangeset = HttpApiEndpoint.get("getChangeset", "/v1/changesets/:changeset_id", {
  params: changeset,
  success: ChangesetRecord,
  error: Problem404
}).annotateMerge(OpenApi.annotations({ summary: "A change set with its review" }))

const review = HttpApiEndpoint.post("review", "/v1/changesets/:changeset_id/review", {
  params: changeset,
  payload: Schema.Struct({
    decision: Schema.Literals(["approved", "rejected"]),
    note: ReviewNote.pipe(Schema.withDecodingDefaultKey(Effect.succeed("")))
  }),
  success: ChangesetRecord,
  error: [Problem404, Problem409]
})
  .annotate(Needs, "review")
  .annotateMerge(OpenApi.annotations({ summary: "Approve or reject a change set, once" }))
  .middleware(RequestBody)

export class RecordsApi extends HttpApiGroup.make("records")
  .add(
    listScans,
    getScan,
    listClusters,
    getCluster,
    listFailures,
    listChangesets,
    getChangeset,
    review
  )
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Records of a workspace" })) {}
