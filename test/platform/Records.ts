/** A small workspace: two frameworks, three scans, four clusters with failures, two change sets and three errors. */
import { Schema } from "effect"
import type { PlatformRecords } from "../../src/spectral/platform/PlatformRecords.ts"
import { PlatformRecords as Records } from "../../src/spectral/platform/PlatformRecords.ts"

/** A moment of the sample, in hours after its first. */
export const at = (hours: number): number => 1_770_000_000_000 + hours * 3_600_000

export const odd = 'nul \u0000, "quoted", ü €😀'

const rubric = (rubric_id: string, threshold: number) => ({
  rubric_id,
  name: rubric_id,
  description: odd,
  criteria: ["Each statement has a source."],
  threshold,
  enabled: true
})

const framework = (framework_id: string, world_id?: string) => ({
  framework_id,
  name: framework_id,
  version: 1,
  ...(world_id === undefined ? undefined : { world_id }),
  rubrics: [rubric("groundedness", 0.8), rubric("tone", 0.6)],
  revisions: [
    { version: 1, at: at(0), by: "pia", reason: "First version.", sources: ["handbook, page 4"] }
  ]
})

const scan = (scan_id: string, hours: number, status = "completed") => ({
  scan: {
    scan_id,
    cycle_id: "cycle-1",
    system_id: "support-bot",
    framework_id: "support",
    framework_version: 1,
    trigger: "schedule",
    status,
    started_at: at(hours),
    ended_at: at(hours) + 60_000,
    traces: 400,
    failures: status === "failed" ? 0 : 31,
    ...(status === "failed"
      ? { failure: { code: "ingestion_stopped", message: "Traces were refused." } }
      : undefined)
  },
  scores:
    status === "failed"
      ? []
      : [
          { rubric_id: "tone", score: 0.9, threshold: 0.6, samples: 400 },
          { rubric_id: "groundedness", score: 0.7, threshold: 0.8, samples: 380 }
        ],
  ...(status === "failed"
    ? undefined
    : {
        verdict: {
          verdict_id: `verdict-${scan_id}`,
          outcome: "warn",
          summary: odd,
          changeset_id: "change-1",
          issued_at: at(hours) + 120_000
        }
      })
})

const changeset = (changeset_id: string, hours: number) => ({
  changeset: {
    changeset_id,
    scan_id: "scan-3",
    cycle_id: "cycle-1",
    system_id: "support-bot",
    title: "Ask for a source in each answer",
    rationale: odd,
    risk: "low",
    changes: [{ setting: "prompt.sources", before: "", after: "required" }],
    proposed_at: at(hours)
  },
  state: { status: "proposed" }
})

const cluster = (cluster_id: string, severity: string, hours: number) => ({
  cluster_id,
  system_id: "support-bot",
  rubric_id: "groundedness",
  severity,
  title: odd,
  first_seen_at: at(0),
  last_seen_at: at(hours),
  snapshot: {
    taken_at: at(hours),
    scan_id: "scan-3",
    failures: 3,
    share: 0.1,
    terms: ["refund", "deadline"],
    example: "The answer names a deadline that no source has."
  }
})

export const failure = (failure_id: string, cluster_id: string, hours: number) => ({
  failure_id,
  cluster_id,
  scan_id: "scan-3",
  trace_id: "0af7651916cd43dd8448eb211c80319c",
  occurred_at: at(hours),
  score: 0.2,
  excerpt: odd
})

const error = (error_id: string, hours: number, source: string, scan_id?: string) => ({
  error_id,
  at: at(hours),
  source,
  code: "credential_refused",
  message: "The ingestion key was refused.",
  count: 12,
  ...(scan_id === undefined ? undefined : { scan_id })
})

const decode = Schema.decodeUnknownSync(Records)

/** Those that are left out are empty. */
export const some = (given: object): PlatformRecords =>
  decode({
    frameworks: [],
    systems: [],
    scans: [],
    changesets: [],
    clusters: [],
    failures: [],
    errors: [],
    events: [],
    ...given
  })

export const sample = some({
  workspace: {
    name: "Support",
    onboarding: { workspace_created: at(0), traces_received: at(1), framework_chosen: at(2) },
    traces_url: "https://ingest.example/v1/traces",
    last_trace_at: at(50),
    version: 1,
    configuration: { autonomy_mode: "propose", scan_schedule: "daily", sample_share: 0.5 }
  },
  frameworks: [framework("support", "credit"), framework("basics")],
  systems: [
    {
      system_id: "support-bot",
      name: "Support bot",
      purpose: odd,
      owner: "Support",
      framework_id: "support",
      parts: ["a language model", "a search of documents"],
      limits: ["It must not decide about refunds."],
      updated_at: at(1)
    }
  ],
  scans: [scan("scan-1", 1), scan("scan-2", 24, "failed"), scan("scan-3", 48)],
  changesets: [changeset("change-1", 48), changeset("change-2", 49)],
  clusters: [
    cluster("no-source", "high", 40),
    cluster("rude", "low", 48),
    cluster("wrong-deadline", "critical", 47),
    cluster("old-price", "high", 48)
  ],
  failures: [
    failure("failure-1", "no-source", 40),
    failure("failure-2", "no-source", 39),
    failure("failure-3", "no-source", 40),
    failure("failure-4", "rude", 41)
  ],
  errors: [
    error("error-1", 24, "ingestion", "scan-2"),
    error("error-2", 25, "ingestion"),
    error("error-3", 26, "evaluation")
  ]
})
