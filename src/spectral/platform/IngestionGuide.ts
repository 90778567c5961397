/**
 * Explains how a system sends its traces to its workspace as OTLP over HTTP: by the environment variables that every
 * OpenTelemetry SDK reads (https://opentelemetry.io/docs/specs/otel/protocol/exporter/), through a collector, or with requests of
 * its own.
 */

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
