/**
 * The Operations Agent's tools for failure clusters. Triage sets the fields that operators manage and leaves the platform's
 * findings unchanged.
 */
import { Effect, Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import { ToolError } from "../../error/ToolError.ts"
import type { Governance } from "../../tool/GovernedTool.ts"
import {
  ClusterRecord,
  ClusterSeverity,
  ClusterStatus,
  LinkedFailure,
  TriageNotes
} from "./contracts/FailureCluster.ts"
import { ClusterId, RecordId } from "./contracts/RecordId.ts"

/** How many linked failures a cluster's detail contains; the rest is read with `failures_after`. */
export const detail_failures_max = 50

const ListFailureClusters = Tool.make("list_failure_clusters", {
  description:
    "Failure clusters, the most severe first and in it the one that was seen last. Page with after.",
  parameters: Schema.Struct({
    severity: Schema.optionalKey(
      ClusterSeverity.annotate({ description: "Only clusters of this severity." })
    ),
    status: Schema.optionalKey(
      ClusterStatus.annotate({ description: "Only clusters in this status." })
    ),
    after: Schema.optionalKey(
      ClusterId.annotate({
        description: "Only clusters behind this one: the last of the page before."
      })
    ),
    limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))
      .annotate({ description: "At most so many, 1 to 100; 20 if left out." })
      .pipe(Schema.withDecodingDefaultKey(Effect.succeed(20)))
  }),
  success: Schema.Struct({
    clusters: Schema.Array(
      Schema.Struct({
        cluster_id: ClusterId,
        title: Schema.String,
        severity: ClusterSeverity,
        status: ClusterStatus,
        system_id: Schema.String,
        failures: Schema.Int,
        last_seen_at: Schema.Int
      })
    ),
    /** True = more clusters match than `limit`. */
    more: Schema.Boolean
  }),
  failure: ToolError
})

const GetClusterDetail = Tool.make("get_cluster_detail", {
  description: `One cluster with its snapshot, its triage and its newest linked failures, at most ${detail_failures_max}.`,
  parameters: Schema.Struct({
    cluster_id: ClusterId,
    failures_after: Schema.optionalKey(
      RecordId.annotate({
        description: "Only failures older than this one: the last of the page before."
      })
    )
  }),
  success: Schema.Struct({
    ...ClusterRecord.fields,
    failures: Schema.Array(LinkedFailure),
    more_failures: Schema.Boolean
  }),
  failure: ToolError
})

const TriageCluster = Tool.make("triage_cluster", {
  description:
    "Sets the status of a cluster, with notes that say why. Needs an operator's approval. Look at its detail first.",
  parameters: Schema.Struct({ cluster_id: ClusterId, status: ClusterStatus, notes: TriageNotes }),
  success: Schema.Struct({
    cluster_id: ClusterId,
    status: ClusterStatus,
    triaged_by: Schema.String
  }),
  failure: ToolError
})

export const FailureClusterTools = Toolkit.make(
  ListFailureClusters,
  GetClusterDetail,
  TriageCluster
)

const namespace = "operations"

export const failureClusterGovernance = {
  list_failure_clusters: { namespace, side_effects: "read", timeout_ms: 10_000 },
  get_cluster_detail: { namespace, side_effects: "read", timeout_ms: 10_000 },
  triage_cluster: {
    namespace,
    side_effects: "write",
    // The triage is written in the transaction of the call's event, so it is set exactly once.
    transactional: true,
    timeout_ms: 5_000,
    effect_description:
      "Sets the status and the notes of a failure cluster. What was found about it does not change."
  }
} as const satisfies Record<string, Governance>
