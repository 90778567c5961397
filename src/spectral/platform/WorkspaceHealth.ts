/**
 * Computes the health of a workspace and the findings behind it, as a pure function of its records.
 */
import { Schema } from "effect"
import type { Scan } from "./contracts/Scan.ts"
import { OnboardingStep } from "./Workspace.ts"
import type { Workspace, WorkspaceError } from "./Workspace.ts"

const hour_ms = 3_600_000

/** How many scans and errors are examined at most. */
export const health_scans_max = 20
export const health_errors_max = 500
export const health_window_ms = 24 * hour_ms

export const WorkspaceHealth = Schema.Struct({
  /** `unhealthy`: nothing is evaluated. `degraded`: something is evaluated, but something is wrong. */
  state: Schema.Literals(["healthy", "degraded", "unhealthy"]),
  /** Sentences that explain the state; empty if the workspace is healthy. */
  findings: Schema.Array(Schema.String),
  last_trace_at: Schema.optionalKey(Schema.Int),
  last_completed_scan_at: Schema.optionalKey(Schema.Int),
  /** How many of the last 20 scans failed. */
  failed_scans: Schema.Int,
  /** The errors in the last 24 hours, from at most 500 records. */
  errors: Schema.Int
})
export interface WorkspaceHealth extends Schema.Schema.Type<typeof WorkspaceHealth> {}

interface Findings {
  readonly grave: Array<string>
  readonly light: Array<string>
}

const ofTraces = ({ last_trace_at, onboarding }: Workspace, now: number, found: Findings): void => {
  if (last_trace_at === undefined) found.grave.push("No trace has come yet.")
  else if (now - last_trace_at > health_window_ms) {
    found.grave.push("No trace has come for more than 24 hours.")
  }
  const missing = OnboardingStep.literals.filter((step) => onboarding[step] === undefined)
  if (missing.length > 0) found.light.push(`Onboarding lacks ${missing.join(", ")}.`)
}

const ofScans = (scans: ReadonlyArray<Scan>, found: Findings): number => {
  const over = scans.filter(({ ended_at }) => ended_at !== undefined)
  const failed = over.filter(({ status }) => status === "failed").length
  const [last] = over
  if (over.length > 0 && failed === over.length) {
    found.grave.push(`The last ${over.length} scans that ended have all failed.`)
  } else if (last?.status === "failed") {
    found.light.push(`The last scan that ended, ${last.scan_id}, failed.`)
  }
  return failed
}

/**
 * `scans` and `errors` are the newest ones, newest first; errors older than 24 hours are not counted. `now` is in ms since 1970.
 */
export const workspaceHealth = (
  workspace: Workspace,
  scans: ReadonlyArray<Scan>,
  errors: ReadonlyArray<WorkspaceError>,
  now: number
): WorkspaceHealth => {
  const found: Findings = { grave: [], light: [] }
  ofTraces(workspace, now, found)
  const failed_scans = ofScans(scans, found)
  const count = errors
    .filter(({ at }) => now - at <= health_window_ms)
    .reduce((total, error) => total + error.count, 0)
  if (count > 0) found.light.push(`${count} errors in the last 24 hours.`)
  if (workspace.configuration.scan_schedule === "off") found.light.push("Scans are off.")
  const completed = scans.find(({ status }) => status === "completed")
  return {
    state: found.grave.length > 0 ? "unhealthy" : found.light.length > 0 ? "degraded" : "healthy",
    findings: [...found.grave, ...found.light],
    ...(workspace.last_trace_at === undefined
      ? undefined
      : { last_trace_at: workspace.last_trace_at }),
    ...(completed?.ended_at === undefined
      ? undefined
      : { last_completed_scan_at: completed.ended_at }),
    failed_scans,
    errors: count
  }
}
