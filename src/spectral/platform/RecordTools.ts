/**
 * The Operations Agent's tools for a workspace's records: their counts in each state, without any of their contents; failure
 * clusters; and the patterns in them, which may be used in a draft. Triage sets the fields that operators manage and leaves the
 * platform's findings unchanged.
 */
import { Effect, Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import { ToolError } from "../../error/ToolError.ts"
import type { Governance } from "../../tool/GovernedTool.ts"
import { FailurePattern } from "./FailurePatterns.ts"
import { ChangesetStatus } from "./contracts/Changeset.ts"
import { DraftStatus } from "./contracts/Draft.ts"
import {
  ClusterRecord,
  ClusterSeverity,
  ClusterStatus,
  LinkedFailure,
  TriageNotes
} from "./contracts/FailureCluster.ts"
import { ClusterId, RecordId, SystemId } from "./contracts/Fact.ts"
import { ScanStatus } from "./contracts/Scan.ts"

/** Counts by state. Every state is present, even if no record has it. */
const counts = <const L extends string>(states: Schema.Literals<ReadonlyArray<L>>) =>
  Schema.Record(states, Schema.Int)

export const RecordCounts = Schema.Struct({
  scans: counts(ScanStatus),
  changesets: counts(ChangesetStatus),
  clusters: counts(ClusterStatus),
  /** Failure clusters that are neither resolved nor dismissed. */
  open_clusters: counts(ClusterSeverity),
  /** Drafts of rubrics and system cards. */
  drafts: counts(DraftStatus)
})
export interface RecordCounts extends Schema.Schema.Type<typeof RecordCounts> {}

/** The number of records of a kind in one state. */
export type CountedRecords =
  | { readonly kind: "scan"; readonly status: ScanStatus; readonly count: number }
  | { readonly kind: "changeset"; readonly status: ChangesetStatus; readonly count: number }
  | { readonly kind: "draft"; readonly status: DraftStatus; readonly count: number }
  | {
      readonly kind: "cluster"
      readonly status: ClusterStatus
      readonly severity: ClusterSeverity
      readonly count: number
    }

const noneOf = <L extends string>(states: ReadonlyArray<L>) =>
  Object.fromEntries(states.map((state) => [state, 0])) as Record<L, number>

export const isOpen = (status: ClusterStatus): boolean =>
  status !== "resolved" && status !== "dismissed"

export const sumOf = (counted: ReadonlyArray<CountedRecords>): RecordCounts => {
  const scans = noneOf(ScanStatus.literals)
  const changesets = noneOf(ChangesetStatus.literals)
  const clusters = noneOf(ClusterStatus.literals)
  const open_clusters = noneOf(ClusterSeverity.literals)
  const drafts = noneOf(DraftStatus.literals)
  for (const each of counted) {
    if (each.kind === "scan") scans[each.status] += each.count
    else if (each.kind === "changeset") changesets[each.status] += each.count
    else if (each.kind === "draft") drafts[each.status] += each.count
    else {
      clusters[each.status] += each.count
      if (isOpen(each.status)) open_clusters[each.severity] += each.count
    }
  }
  return { scans, changesets, clusters, open_clusters, drafts }
}

const GetOperationsSummary = Tool.make("get_operations_summary", {
  description:
    "How many scans, change sets, failure clusters and drafts of the workspace are in each state, and how many clusters of each severity are open: neither resolved nor dismissed. Dead letters are not in it; list_dlq_events lists them.",
  parameters: Schema.Struct({}),
  success: RecordCounts,
  failure: ToolError
})

export const SummaryTools = Toolkit.make(GetOperationsSummary)

const namespace = "operations"
const read = { namespace, side_effects: "read", timeout_ms: 10_000 } as const

export const summaryGovernance = {
  get_operations_summary: read
} as const satisfies Record<string, Governance>

/** The most clusters that are examined, the most severe first. */
export const distilled_clusters_max = 2_000
/** The most clusters that are read to find those. Closed clusters and those of other systems are read too, and left out. */
export const read_clusters_max = 20_000

const patterns_max = 15

const DistillFailurePatterns = Tool.make("distill_failure_patterns", {
  description:
    "What the failure clusters have in common: patterns with their counts, shares and examples, the most frequent first. Without arguments it looks at all open clusters: those that are neither resolved nor dismissed.",
  parameters: Schema.Struct({
    system_id: Schema.optionalKey(
      SystemId.annotate({ description: "Only clusters of this system." })
    ),
    severity: Schema.optionalKey(
      ClusterSeverity.annotate({ description: "Only clusters of this severity." })
    ),
    include_closed: Schema.Boolean.annotate({
      description: "Resolved and dismissed clusters too; false if left out."
    }).pipe(Schema.withDecodingDefaultKey(Effect.succeed(false))),
    limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: patterns_max }))
      .annotate({ description: `At most so many patterns, 1 to ${patterns_max}; 5 if left out.` })
      .pipe(Schema.withDecodingDefaultKey(Effect.succeed(5)))
  }),
  success: Schema.Struct({
    /** How many clusters were examined, and the failures in their last snapshots. */
    clusters: Schema.Int,
    failures: Schema.Int,
    patterns: Schema.Array(FailurePattern),
    /** True = there are more patterns than were returned. */
    more: Schema.Boolean,
    /** True = there may be more clusters, less severe ones, than were examined. */
    more_clusters: Schema.Boolean
  }),
  failure: ToolError
})

export const PatternTools = Toolkit.make(DistillFailurePatterns)

export const patternGovernance = {
  distill_failure_patterns: read
} as const satisfies Record<string, Governance>

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

export const failureClusterGovernance = {
  list_failure_clusters: read,
  get_cluster_detail: read,
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
