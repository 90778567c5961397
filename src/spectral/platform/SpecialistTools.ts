/**
 * The tools of the Spectral Agent's specialists, one toolkit for each. They read the workspace of the run's own tenant: no
 * argument names another.
 */
import { Effect, Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import { ToolError } from "../../error/ToolError.ts"
import type { Governance } from "../../tool/GovernedTool.ts"
import { WorldId } from "../worlds/contracts/WorldId.ts"
import { ChangesetRecord } from "./contracts/Changeset.ts"
import { FrameworkId, ScanId, SystemId, ChangesetId } from "./contracts/Fact.ts"
import { Scan, ScanRecord, ScanStatus, Score } from "./contracts/Scan.ts"
import { Framework, FrameworkRevision } from "./Framework.ts"
import { Rubric } from "./contracts/Rubric.ts"
import { instrumentations } from "./SupportGuides.ts"
import { Configuration, ErrorSource, OnboardingStep, WorkspaceError } from "./Workspace.ts"
import { SystemCard } from "./contracts/SystemCard.ts"
import { WorkspaceHealth } from "./WorkspaceHealth.ts"
import { WorldVersionPublished } from "../worlds/contracts/WorldVersionPublished.ts"

const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))
  .annotate({ description: "At most so many, 1 to 100; 20 if left out." })
  .pipe(Schema.withDecodingDefaultKey(Effect.succeed(20)))

/** True = more records match than `limit`. */
const More = Schema.Boolean

const failure = ToolError

const ListRecentScans = Tool.make("list_recent_scans", {
  description: "Scans of this workspace, newest first. Page with after.",
  parameters: Schema.Struct({
    status: Schema.optionalKey(ScanStatus.annotate({ description: "Only scans in this status." })),
    after: Schema.optionalKey(
      ScanId.annotate({
        description: "Only scans older than this one: the last of the page before."
      })
    ),
    limit: Limit
  }),
  success: Schema.Struct({ scans: Schema.Array(Scan), more: More }),
  failure
})

const GetScanDetail = Tool.make("get_scan_detail", {
  description: "One scan with its verdict and its scores.",
  parameters: Schema.Struct({ scan_id: ScanId }),
  success: ScanRecord,
  failure
})

const GetScanScores = Tool.make("get_scan_scores", {
  description: "The scores of one scan by rubric, those that miss their threshold first.",
  parameters: Schema.Struct({ scan_id: ScanId }),
  success: Schema.Struct({ scan_id: ScanId, scores: Schema.Array(Score) }),
  failure
})

const GetChangesetDetail = Tool.make("get_changeset_detail", {
  description: "One change set: what it would change and why, and how its review stands.",
  parameters: Schema.Struct({ changeset_id: ChangesetId }),
  success: ChangesetRecord,
  failure
})

export const ScanAnalystTools = Toolkit.make(
  ListRecentScans,
  GetScanDetail,
  GetScanScores,
  GetChangesetDetail
)

const GetOnboardingStatus = Tool.make("get_onboarding_status", {
  description: "How far the onboarding of this workspace is, and the next step.",
  parameters: Schema.Struct({}),
  success: Schema.Struct({
    workspace: Schema.String,
    steps: Schema.Array(
      Schema.Struct({ step: OnboardingStep, taken_at: Schema.optionalKey(Schema.Int) })
    ),
    /** The next onboarding step. Absent = all steps are done. */
    next: Schema.optionalKey(OnboardingStep)
  }),
  failure
})

const GetTraceIngestionGuide = Tool.make("get_trace_ingestion_guide", {
  description: "How a system sends its traces to this workspace, step by step, with its address.",
  parameters: Schema.Struct({
    instrumentation: Schema.Literals(instrumentations)
      .annotate({
        description:
          "environment: an OpenTelemetry SDK that is configured by variables; collector: an OpenTelemetry Collector; http: requests of one's own."
      })
      .pipe(Schema.withDecodingDefaultKey(Effect.succeed("environment" as const)))
  }),
  success: Schema.Struct({
    traces_url: Schema.String,
    steps: Schema.Array(Schema.String),
    /** Absent = no trace has arrived yet. */
    last_trace_at: Schema.optionalKey(Schema.Int)
  }),
  failure
})

export const OnboardingGuideTools = Toolkit.make(GetOnboardingStatus, GetTraceIngestionGuide)

const GetFrameworkConfig = Tool.make("get_framework_config", {
  description:
    "The workspace's configuration, and its evaluation frameworks with their rubrics' thresholds. Give framework_id for one of them.",
  parameters: Schema.Struct({ framework_id: Schema.optionalKey(FrameworkId) }),
  success: Schema.Struct({
    configuration: Configuration,
    /** The version of the configuration, which has to be passed to change it. */
    configuration_version: Schema.Int,
    frameworks: Schema.Array(
      Schema.Struct({
        framework_id: FrameworkId,
        name: Schema.String,
        version: Schema.Int,
        world_id: Framework.fields.world_id,
        rubrics: Schema.Array(
          Schema.Struct({
            rubric_id: Schema.String,
            threshold: Schema.Number,
            enabled: Schema.Boolean
          })
        )
      })
    )
  }),
  failure
})

const GetRubrics = Tool.make("get_rubrics", {
  description: "The rubrics of one framework with their criteria.",
  parameters: Schema.Struct({ framework_id: FrameworkId }),
  success: Schema.Struct({
    framework_id: FrameworkId,
    version: Schema.Int,
    rubrics: Schema.Array(Rubric)
  }),
  failure
})

const GetWorldModelContext = Tool.make("get_world_model_context", {
  description:
    "What is known here of a world model that a framework evaluates: its newest published version, its size, and how well it is tested.",
  parameters: Schema.Struct({ world_id: WorldId }),
  success: WorldVersionPublished,
  failure
})

const GetSystemCard = Tool.make("get_system_card", {
  description:
    "What one of the workspace's systems is for, what it is built of and what its limits are.",
  parameters: Schema.Struct({ system_id: SystemId }),
  success: SystemCard,
  failure
})

const GetEvaluationFrameworkProvenance = Tool.make("get_evaluation_framework_provenance", {
  description:
    "Where a framework comes from: each of its versions with who made it, why and from what sources.",
  parameters: Schema.Struct({ framework_id: FrameworkId }),
  success: Schema.Struct({
    framework_id: FrameworkId,
    name: Schema.String,
    revisions: Schema.Array(FrameworkRevision)
  }),
  failure
})

export const FrameworkAdvisorTools = Toolkit.make(
  GetFrameworkConfig,
  GetRubrics,
  GetWorldModelContext,
  GetSystemCard,
  GetEvaluationFrameworkProvenance
)

const DiagnoseScanFailure = Tool.make("diagnose_scan_failure", {
  description: "Why a scan failed, the errors that came with it, and what helps.",
  parameters: Schema.Struct({ scan_id: ScanId }),
  success: Schema.Struct({
    scan: Scan,
    cause: Schema.String,
    steps: Schema.Array(Schema.String),
    may_pass_by_itself: Schema.Boolean,
    errors: Schema.Array(WorkspaceError)
  }),
  failure
})

const CheckWorkspaceHealth = Tool.make("check_workspace_health", {
  description: "Whether this workspace is evaluated as it should be, and what stands against it.",
  parameters: Schema.Struct({}),
  success: WorkspaceHealth,
  failure
})

const GetRecentErrors = Tool.make("get_recent_errors", {
  description: "Errors of this workspace, newest first. Page with after.",
  parameters: Schema.Struct({
    source: Schema.optionalKey(ErrorSource),
    after: Schema.optionalKey(
      WorkspaceError.fields.error_id.annotate({
        description: "Only errors older than this one: the last of the page before."
      })
    ),
    limit: Limit
  }),
  success: Schema.Struct({ errors: Schema.Array(WorkspaceError), more: More }),
  failure
})

export const TroubleshooterTools = Toolkit.make(
  DiagnoseScanFailure,
  CheckWorkspaceHealth,
  GetRecentErrors
)

const read = { namespace: "platform", side_effects: "read", timeout_ms: 10_000 } as const

export const scanAnalystGovernance = {
  list_recent_scans: read,
  get_scan_detail: read,
  get_scan_scores: read,
  get_changeset_detail: read
} as const satisfies Record<string, Governance>

export const onboardingGuideGovernance = {
  get_onboarding_status: read,
  get_trace_ingestion_guide: read
} as const satisfies Record<string, Governance>

export const frameworkAdvisorGovernance = {
  get_framework_config: read,
  get_rubrics: read,
  get_world_model_context: read,
  get_system_card: read,
  get_evaluation_framework_provenance: read
} as const satisfies Record<string, Governance>

export const troubleshooterGovernance = {
  diagnose_scan_failure: read,
  check_workspace_health: read,
  get_recent_errors: read
} as const satisfies Record<string, Governance>
