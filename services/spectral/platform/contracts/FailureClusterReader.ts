/**
 * Reads failure clusters and the failures that are linked to them. Needs no agent.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../../src/value/Ids.ts"
import type {
  ClusterRecord,
  ClusterSeverity,
  ClusterStatus,
  LinkedFailure
} from "../../../../src/spectral/platform/contracts/FailureCluster.ts"
import type { RecordNotFound } from "../../../../src/spectral/platform/contracts/RecordErrors.ts"
import type { StoreError } from "../../../StoreError.ts"
import type { RecordPage } from "./RecordPage.ts"

export interface ClusterQuery extends RecordPage {
  readonly severity?: ClusterSeverity | undefined
  readonly status?: ClusterStatus | undefined
}

export class FailureClusterReader extends Context.Service<
  FailureClusterReader,
  {
    /** Clusters, the most severe first; those of the same severity are ordered by when they were seen, the last one first. */
    clusters(
      tenant: Tenant,
      query: ClusterQuery
    ): Effect.Effect<ReadonlyArray<ClusterRecord>, StoreError>
    cluster(tenant: Tenant, id: string): Effect.Effect<ClusterRecord, RecordNotFound | StoreError>
    /** Failures of a cluster, newest first; none if the cluster is unknown. */
    failures(
      tenant: Tenant,
      id: string,
      page: RecordPage
    ): Effect.Effect<ReadonlyArray<LinkedFailure>, StoreError>
  }
>()("troupe/services/spectral/platform/contracts/FailureClusterReader") {}
