/**
 * Failures of evaluated traces, grouped by what they have in common. The platform finds the groups; operators decide what is done
 * about each.
 */
import { Schema } from "effect"
import { By, Count, Moment, Share, Text, ClusterId, RecordId, ScanId, SystemId } from "./Fact.ts"

/** The severities, the worst first. */
export const ClusterSeverity = Schema.Literals(["critical", "high", "medium", "low"])
export type ClusterSeverity = typeof ClusterSeverity.Type

/** The severity as a number; 0 is the worst. */
export const severityRank = (severity: ClusterSeverity): number =>
  ClusterSeverity.literals.indexOf(severity)

export const ClusterStatus = Schema.Literals([
  "new",
  "acknowledged",
  "in_progress",
  "resolved",
  "dismissed"
])
export type ClusterStatus = typeof ClusterStatus.Type

/** The platform's findings about a cluster. Only a later scan changes them. */
export const FailureCluster = Schema.Struct({
  cluster_id: ClusterId,
  system_id: SystemId,
  rubric_id: RecordId,
  severity: ClusterSeverity,
  title: Text(200),
  first_seen_at: Moment,
  last_seen_at: Moment,
  /** The cluster as it was last found. */
  snapshot: Schema.Struct({
    taken_at: Moment,
    scan_id: ScanId,
    /** Linked failures, and their share of all failures of the scan. */
    failures: Count,
    share: Share,
    /** Words that its failures have in common, the most frequent first. */
    terms: Schema.Array(Text(64)).check(Schema.isMaxLength(20)),
    /** One of the failures, shortened. */
    example: Text(1_000)
  })
})
export interface FailureCluster extends Schema.Schema.Type<typeof FailureCluster> {}

/** Why a status was set. */
export const TriageNotes = Text(2_000)

/** The fields that only operators change. */
export const ClusterTriage = Schema.Struct({
  status: ClusterStatus,
  /** The notes, author and time of the last triage; all three are absent before the first one. */
  notes: Schema.optionalKey(TriageNotes),
  triaged_by: Schema.optionalKey(By),
  triaged_at: Schema.optionalKey(Moment)
})
export interface ClusterTriage extends Schema.Schema.Type<typeof ClusterTriage> {}

export const ClusterRecord = Schema.Struct({ cluster: FailureCluster, triage: ClusterTriage })
export interface ClusterRecord extends Schema.Schema.Type<typeof ClusterRecord> {}

export const LinkedFailure = Schema.Struct({
  failure_id: RecordId,
  cluster_id: ClusterId,
  scan_id: ScanId,
  /** W3C trace id of the evaluated trace. */
  trace_id: Schema.String.check(
    Schema.isPattern(/^[0-9a-f]{32}$/, { description: "32 lower-case hexadecimal digits" })
  ),
  occurred_at: Moment,
  score: Share,
  excerpt: Text(500)
})
export interface LinkedFailure extends Schema.Schema.Type<typeof LinkedFailure> {}
