/**
 * Explains each failure code of a scan: its cause, and what helps.
 */
import type { ScanFailureCode } from "./contracts/Scan.ts"

interface Diagnosis {
  readonly cause: string
  /** What to do, in order. */
  readonly steps: ReadonlyArray<string>
  /** Whether the next scan may succeed without a change. */
  readonly may_pass_by_itself: boolean
}

const diagnoses: Readonly<Record<ScanFailureCode, Diagnosis>> = {
  no_traces: {
    cause: "No trace of the system came in the time that the scan looked at.",
    steps: [
      "Check that the system ran and was asked something in that time.",
      "Check that its exporter sends to the workspace's traces_url (get_trace_ingestion_guide).",
      "Look for errors of the source ingestion."
    ],
    may_pass_by_itself: true
  },
  trace_schema_invalid: {
    cause: "Traces came, but their spans lack attributes that the evaluation reads.",
    steps: [
      "Look at the newest errors of the source ingestion: they name the attribute.",
      "Bring the instrumentation of the system up to date.",
      "Start a scan of traces that came after the change."
    ],
    may_pass_by_itself: false
  },
  ingestion_stopped: {
    cause: "Traces were refused while the scan ran.",
    steps: [
      "Look at the errors of the source ingestion: a refused credential is the usual one.",
      "Renew what was refused, and send one trace.",
      "Start the scan again."
    ],
    may_pass_by_itself: false
  },
  evaluator_timeout: {
    cause: "The evaluation of some traces took too long, and the scan was given up.",
    steps: ["Wait for the next scan.", "If it fails again, lower sample_share."],
    may_pass_by_itself: true
  },
  evaluator_rate_limited: {
    cause: "The model that evaluates refused further requests.",
    steps: ["Wait for the next scan.", "If it fails again, scan less often or lower sample_share."],
    may_pass_by_itself: true
  },
  framework_invalid: {
    cause:
      "The framework leaves nothing to evaluate: each of its rubrics is off or applies to no trace.",
    steps: ["Look at the framework (get_framework_config).", "Turn on a rubric that applies."],
    may_pass_by_itself: false
  },
  internal: {
    cause: "The platform itself failed. Nothing in the workspace caused it.",
    steps: ["Wait for the next scan.", "If it fails again, report the scan's id to support."],
    may_pass_by_itself: true
  }
}

export const diagnosisOf = (code: ScanFailureCode): Diagnosis => diagnoses[code]
