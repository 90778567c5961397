/**
 * Scans of a workspace's systems, their verdicts and their scores.
 */
import { Schema } from "effect"
import {
  Count,
  Moment,
  Share,
  Text,
  Version,
  ChangesetId,
  CycleId,
  FrameworkId,
  RecordId,
  ScanId,
  SystemId
} from "./Fact.ts"
import { rubrics_max, VerdictOutcome } from "./PlatformEvent.ts"

export const ScanStatus = Schema.Literals(["queued", "running", "completed", "failed"])
export type ScanStatus = typeof ScanStatus.Type

/** Why a scan failed. Each code has a cause and a fix of its own: see `SupportGuides`. */
export const ScanFailureCode = Schema.Literals([
  "no_traces",
  "trace_schema_invalid",
  "ingestion_stopped",
  "evaluator_timeout",
  "evaluator_rate_limited",
  "framework_invalid",
  "internal"
])
export type ScanFailureCode = typeof ScanFailureCode.Type

export const Scan = Schema.Struct({
  scan_id: ScanId,
  cycle_id: CycleId,
  system_id: SystemId,
  framework_id: FrameworkId,
  framework_version: Version,
  trigger: Schema.Literals(["schedule", "manual", "deployment"]),
  status: ScanStatus,
  started_at: Moment,
  /** When the scan ended. Absent = it has not ended. */
  ended_at: Schema.optionalKey(Moment),
  /** How many traces were evaluated, and how many of them failed a rubric. */
  traces: Count,
  failures: Count,
  /** Present if the scan failed. */
  failure: Schema.optionalKey(Schema.Struct({ code: ScanFailureCode, message: Text(500) }))
}).check(
  Schema.makeFilter((scan) => {
    if (scan.failures > scan.traces) {
      return { path: ["failures"], issue: "Expected no more failures than traces" }
    }
    return (scan.failure === undefined) === (scan.status !== "failed")
      ? undefined
      : { path: ["failure"], issue: "Expected a failure of a failed scan, and of no other" }
  })
)
export interface Scan extends Schema.Schema.Type<typeof Scan> {}

export const Verdict = Schema.Struct({
  verdict_id: RecordId,
  outcome: VerdictOutcome,
  summary: Text(2_000),
  changeset_id: Schema.optionalKey(ChangesetId),
  issued_at: Moment
})
export interface Verdict extends Schema.Schema.Type<typeof Verdict> {}

export const Score = Schema.Struct({
  rubric_id: RecordId,
  score: Share,
  threshold: Share,
  /** How many evaluated traces the rubric applied to. */
  samples: Count
})
export interface Score extends Schema.Schema.Type<typeof Score> {}

/** A scan with its verdict and scores. */
export const ScanRecord = Schema.Struct({
  scan: Scan,
  /** Absent = the scan has not been judged. */
  verdict: Schema.optionalKey(Verdict),
  scores: Schema.Array(Score).check(Schema.isMaxLength(rubrics_max))
})
export interface ScanRecord extends Schema.Schema.Type<typeof ScanRecord> {}
