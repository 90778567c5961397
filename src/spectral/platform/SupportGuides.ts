/**
 * What the specialists tell a customer to do: about each failure code of a scan, and to send traces. A system sends them as OTLP over
 * HTTP: by the environment variables of every OpenTelemetry SDK
 * (https://opentelemetry.io/docs/specs/otel/protocol/exporter/), through a collector, or with requests of its own.
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

/** How the system is instrumented. */
export const instrumentations = ["environment", "collector", "http"] as const

type Instrumentation = (typeof instrumentations)[number]

const credential =
  "Put the workspace's ingestion key into the header authorization; it is shown once, when it is made, and is kept out of source code."

const steps: Readonly<Record<Instrumentation, (url: string) => ReadonlyArray<string>>> = {
  environment: (url) => [
    `Set OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=${url}`,
    "Set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf",
    "Set OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=Bearer%20KEY with the key in place of KEY.",
    credential,
    "Start the system with its OpenTelemetry SDK, and ask it something."
  ],
  collector: (url) => [
    `Add an exporter otlphttp with traces_endpoint: ${url} to the collector's configuration.`,
    "Give it headers: { authorization: Bearer ${env:INGESTION_KEY} }",
    credential,
    "Name the exporter in the pipeline traces, and load the configuration again."
  ],
  http: (url) => [
    `POST an ExportTraceServiceRequest to ${url}`,
    "Send it as application/x-protobuf or application/json; gzip is allowed.",
    credential,
    "The answer 200 says that the traces were taken; 429 and 503 say to send them again later (Retry-After)."
  ]
}

/** The steps in order. `traces_url` is the URL to which the workspace's systems send their traces. */
export const ingestionGuide = (by: Instrumentation, traces_url: string): ReadonlyArray<string> =>
  steps[by](traces_url)
