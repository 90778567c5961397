/**
 * A workspace, which is a tenant: how far its onboarding is, how it is configured, what its systems are and what went wrong.
 */
import { Result, Schema } from "effect"
import { Count, Moment, Share, Text, Version } from "./contracts/Fact.ts"
import { AutonomyMode } from "./contracts/PlatformEvent.ts"
import { ChangeRefused } from "./contracts/RecordErrors.ts"
import { RecordId, ScanId } from "./contracts/RecordId.ts"

/** In the order in which they are taken. */
export const OnboardingStep = Schema.Literals([
  "workspace_created",
  "traces_received",
  "framework_chosen",
  "system_card_written",
  "first_scan_completed"
])
export type OnboardingStep = typeof OnboardingStep.Type

/** When each step was taken; a step that is absent is still to be taken. */
const StepsTaken = Schema.Record(OnboardingStep, Schema.optionalKey(Moment))

/** How often systems are scanned, and what follows from a verdict. */
export const Configuration = Schema.Struct({
  autonomy_mode: AutonomyMode,
  scan_schedule: Schema.Literals(["hourly", "daily", "weekly", "off"]),
  /** Of the traces, how many are evaluated. */
  sample_share: Share
})
export interface Configuration extends Schema.Schema.Type<typeof Configuration> {}

/** What is to become of the configuration; what is left out stays. */
export const ConfigurationChange = Schema.Struct({
  /** The version that its author saw. */
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
  /** Where its systems send their traces (OTLP over HTTP). */
  traces_url: Schema.String.check(
    Schema.isPattern(/^https?:\/\/[^\s/]+\S*$/, { description: "an http or https URL" }),
    Schema.isMaxLength(500)
  ),
  /** Absent = none came yet. */
  last_trace_at: Schema.optionalKey(Moment),
  /** 1 at the beginning, one more at each change. */
  version: Version,
  configuration: Configuration,
  /** Of the last change. Absent = it was never changed. */
  changed: Schema.optionalKey(Schema.Struct({ by: Text(200), at: Moment, reason: Text(1_000) }))
})
export interface Workspace extends Schema.Schema.Type<typeof Workspace> {}

/** The workspace after the change, or why there is none. */
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

/** Something that went wrong in the workspace's own part of the platform. */
export const WorkspaceError = Schema.Struct({
  error_id: RecordId,
  at: Moment,
  source: ErrorSource,
  code: Schema.String.check(
    Schema.isPattern(/^[a-z][a-z0-9_]{0,63}$/, { description: "a lower-case word" })
  ),
  /** A sentence without secrets and addresses. */
  message: Text(500),
  /** How often it happened in that minute. */
  count: Count,
  scan_id: Schema.optionalKey(ScanId)
})
export interface WorkspaceError extends Schema.Schema.Type<typeof WorkspaceError> {}
