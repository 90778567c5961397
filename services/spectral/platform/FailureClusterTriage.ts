/**
 * Sets the members of a failure cluster that operators manage. It does not change what was found about the cluster.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../src/value/Ids.ts"
import type {
  ClusterRecord,
  ClusterStatus
} from "../../../src/spectral/platform/contracts/FailureCluster.ts"
import type { RecordNotFound } from "../../../src/spectral/platform/contracts/RecordErrors.ts"
import type { StoreError } from "../../StoreError.ts"

export interface Triage {
  readonly status: ClusterStatus
  /** Notes that are not blank, of at most 2,000 UTF-16 units. */
  readonly notes: string
  readonly by: string
}

export class FailureClusterTriage extends Context.Service<
  FailureClusterTriage,
  {
    /** Sets the triage of a cluster, in the ambient transaction if there is one. The last triage counts. */
    triage(
      tenant: Tenant,
      id: string,
      triage: Triage
    ): Effect.Effect<ClusterRecord, RecordNotFound | StoreError>
  }
>()("troupe/services/spectral/platform/FailureClusterTriage") {}
