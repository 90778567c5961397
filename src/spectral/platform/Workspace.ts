/**
 * A workspace, which is a tenant: its onboarding, its configuration, its systems and its errors.
 */
import { Result, Schema } from "effect"
import { By, Count, Moment, Share, Text, Version, RecordId, ScanId } from "./contracts/Fact.ts"
import { AutonomyMode } from "./contracts/PlatformEvent.ts"
import { ChangeRefused } from "./contracts/RecordErrors.ts"

/** The onboarding steps, in their order. */
export const OnboardingStep = Schema.Literals([
  "workspace_created",
  "traces_received",
  "framework_chosen",
  "system_card_written",
  "first_scan_completed"
])
export type OnboardingStep = typeof OnboardingStep.Type

/** When each step was done; an absent step is still to do. */
const StepsTaken = Schema.Record(OnboardingStep, Schema.optionalKey(Moment))

/** How often systems are scanned, and what follows from a verdict. */
export const Configuration = Schema.Struct({
  autonomy_mode: AutonomyMode,
  scan_schedule: Schema.Literals(["hourly", "daily", "weekly", "off"]),
  /** The share of traces that are evaluated. */
  sample_share: Share
})
export interface Configuration extends Schema.Schema.Type<typeof Configuration> {}

/** A change of the configuration. Absent members stay unchanged. */
export const ConfigurationChange = Schema.Struct({
  /** The version on which the change is based. */
  version: Version,
  autonomy_mode: Schema.optionalKey(Configuration.fields.autonomy_mode),
  scan_schedule: Schema.optionalKey(Configuration.fields.scan_schedule),
  sample_share: Schema.optionalKey(Configuration.fields.sample_share),
  reason: Text(1_000)
}).check(
  Schema.makeFilter((change) =>
    change.autonomy_mode === undefined &&
    change.scan_schedule === undefined &&
    change.sample_share === undefined
      ? "autonomy_mode, scan_schedule or sample_share"
      : undefined
  )
)
export interface ConfigurationChange extends Schema.Schema.Type<typeof ConfigurationChange> {}

export const Workspace = Schema.Struct({
  name: Text(200),
  onboarding: StepsTaken,
  /** The URL to which the workspace's systems send their traces (OTLP over HTTP). */
  traces_url: Schema.String.check(
    Schema.isPattern(/^https?:\/\/[^\s/]+\S*$/, { description: "an http or https URL" }),
    Schema.isMaxLength(500)
  ),
  /** Absent = no trace has arrived yet. */
  last_trace_at: Schema.optionalKey(Moment),
  /** The version of the configuration: 1 at first, and 1 more after each change. */
  version: Version,
  configuration: Configuration,
  /** The last change of the configuration. Absent = it was never changed. */
  changed: Schema.optionalKey(Schema.Struct({ by: By, at: Moment, reason: Text(1_000) }))
})
export interface Workspace extends Schema.Schema.Type<typeof Workspace> {}

/** The workspace after the change, or the reason why it cannot be changed so. */
export const changedWorkspace = (
  workspace: Workspace,
  { reason, version, ...changes }: ConfigurationChange,
  by: string,
  at: number
): Result.Result<Workspace, ChangeRefused> =>
  version === workspace.version
    ? Result.succeed({
        ...workspace,
        version: version + 1,
        configuration: { ...workspace.configuration, ...changes },
        changed: { by, at, reason }
      })
    : Result.fail(
        new ChangeRefused({
          message: `the configuration is at version ${workspace.version}, not ${version}`
        })
      )

export const ErrorSource = Schema.Literals(["ingestion", "evaluation", "integration"])
export type ErrorSource = typeof ErrorSource.Type

/** An error in the workspace's own part of the platform. */
export const WorkspaceError = Schema.Struct({
  error_id: RecordId,
  at: Moment,
  source: ErrorSource,
  code: Schema.String.check(
    Schema.isPattern(/^[a-z][a-z0-9_]{0,63}$/, { description: "a lower-case word" })
  ),
  /** A sentence without secrets and addresses. */
  message: Text(500),
  /** How often the error happened in that minute. */
  count: Count,
  scan_id: Schema.optionalKey(ScanId)
})
export interface WorkspaceError extends Schema.Schema.Type<typeof WorkspaceError> {}
