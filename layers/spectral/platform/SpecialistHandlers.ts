/**
 * The tools of the Spectral Agent's specialists. The workspace is the tenant of the run; a model cannot name another one. The
 * platform has its own view of worlds, so no tool here asks another context about them.
 */
import { Clock, Effect } from "effect"
import { ChangesetStore } from "../../../services/spectral/platform/contracts/ChangesetStore.ts"
import { ScanReader } from "../../../services/spectral/platform/contracts/ScanReader.ts"
import { WorkspaceReader } from "../../../services/spectral/platform/WorkspaceReader.ts"
import { WorldViews } from "../../../services/spectral/platform/WorldViews.ts"
import { ToolUserError } from "../../../src/error/ToolError.ts"
import type { Framework } from "../../../src/spectral/platform/Framework.ts"
import { ingestionGuide, diagnosisOf } from "../../../src/spectral/platform/SupportGuides.ts"
import type { Score } from "../../../src/spectral/platform/contracts/Scan.ts"
import {
  frameworkAdvisorGovernance,
  FrameworkAdvisorTools,
  onboardingGuideGovernance,
  OnboardingGuideTools,
  scanAnalystGovernance,
  ScanAnalystTools,
  troubleshooterGovernance,
  TroubleshooterTools
} from "../../../src/spectral/platform/SpecialistTools.ts"
import { OnboardingStep } from "../../../src/spectral/platform/Workspace.ts"
import {
  health_errors_max,
  health_scans_max,
  workspaceHealth
} from "../../../src/spectral/platform/WorkspaceHealth.ts"
import type { GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../../src/tool/GovernedTool.ts"
import { cut } from "../../../src/value/Pages.ts"
import { orToolError } from "./RecordFailure.ts"

type Family<R> = Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool, R>

/** How far a score is above its threshold; negative if it misses it. */
const margin = ({ score, threshold }: Score): number => score - threshold

const scanHandlers = Effect.gen(function* () {
  const reader = yield* ScanReader
  const changesets = yield* ChangesetStore
  return ScanAnalystTools.of({
    list_recent_scans: Effect.fnUntraced(function* ({ limit, ...query }, context) {
      const found = yield* reader.scans(callOf(context).tenant, { ...query, limit: limit + 1 })
      const { items, more } = cut(found, limit)
      return { scans: items.map(({ scan }) => scan), more }
    }, orToolError),
    get_scan_detail: ({ scan_id }, context) =>
      orToolError(reader.scan(callOf(context).tenant, scan_id)),
    get_scan_scores: ({ scan_id }, context) =>
      reader.scan(callOf(context).tenant, scan_id).pipe(
        Effect.map(({ scores }) => ({
          scan_id,
          scores: scores.toSorted((a, b) => margin(a) - margin(b))
        })),
        orToolError
      ),
    get_changeset_detail: ({ changeset_id }, context) =>
      orToolError(changesets.changeset(callOf(context).tenant, changeset_id))
  })
})

/** The tools of the scan-analyst, for a registry. */
export const scanAnalyst: Family<ScanReader | ChangesetStore> = govern(
  ScanAnalystTools,
  scanAnalystGovernance,
  scanHandlers
)

const onboardingHandlers = Effect.map(WorkspaceReader, (reader) =>
  OnboardingGuideTools.of({
    get_onboarding_status: Effect.fnUntraced(function* (_, context) {
      const { name, onboarding } = yield* reader.workspace(callOf(context).tenant)
      const steps = OnboardingStep.literals.map((step) => {
        const taken_at = onboarding[step]
        return { step, ...(taken_at === undefined ? undefined : { taken_at }) }
      })
      const next = steps.find(({ taken_at }) => taken_at === undefined)?.step
      return { workspace: name, steps, ...(next === undefined ? undefined : { next }) }
    }, orToolError),
    get_trace_ingestion_guide: Effect.fnUntraced(function* ({ instrumentation }, context) {
      const { last_trace_at, traces_url } = yield* reader.workspace(callOf(context).tenant)
      return {
        traces_url,
        steps: ingestionGuide(instrumentation, traces_url),
        ...(last_trace_at === undefined ? undefined : { last_trace_at })
      }
    }, orToolError)
  })
)

/** The tools of the onboarding-guide, for a registry. */
export const onboardingGuide: Family<WorkspaceReader> = govern(
  OnboardingGuideTools,
  onboardingGuideGovernance,
  onboardingHandlers
)

const configOf = ({ framework_id, name, rubrics, version, world_id }: Framework) => ({
  framework_id,
  name,
  version,
  ...(world_id === undefined ? undefined : { world_id }),
  rubrics: rubrics.map(({ enabled, rubric_id, threshold }) => ({ rubric_id, threshold, enabled }))
})

const frameworkHandlers = Effect.gen(function* () {
  const reader = yield* WorkspaceReader
  const views = yield* WorldViews
  return FrameworkAdvisorTools.of({
    get_framework_config: Effect.fnUntraced(function* ({ framework_id }, context) {
      const { tenant } = callOf(context)
      const { configuration, version } = yield* reader.workspace(tenant)
      const frameworks =
        framework_id === undefined
          ? yield* reader.frameworks(tenant)
          : [yield* reader.framework(tenant, framework_id)]
      return {
        configuration,
        configuration_version: version,
        frameworks: frameworks.map(configOf)
      }
    }, orToolError),
    get_rubrics: ({ framework_id }, context) =>
      reader.framework(callOf(context).tenant, framework_id).pipe(
        Effect.map(({ rubrics, version }) => ({ framework_id, version, rubrics })),
        orToolError
      ),
    get_world_model_context: ({ world_id }, context) =>
      orToolError(views.view(callOf(context).tenant, world_id)),
    get_system_card: ({ system_id }, context) =>
      orToolError(reader.systemCard(callOf(context).tenant, system_id)),
    get_evaluation_framework_provenance: ({ framework_id }, context) =>
      reader.framework(callOf(context).tenant, framework_id).pipe(
        Effect.map(({ name, revisions }) => ({ framework_id, name, revisions })),
        orToolError
      )
  })
})

/** The tools of the framework-advisor, for a registry. */
export const frameworkAdvisor: Family<WorkspaceReader | WorldViews> = govern(
  FrameworkAdvisorTools,
  frameworkAdvisorGovernance,
  frameworkHandlers
)

/** The greatest number of errors in one diagnosis. */
const diagnosis_errors_max = 20

const troubleHandlers = Effect.gen(function* () {
  const scans = yield* ScanReader
  const reader = yield* WorkspaceReader
  return TroubleshooterTools.of({
    diagnose_scan_failure: Effect.fnUntraced(function* ({ scan_id }, context) {
      const { tenant } = callOf(context)
      const { scan } = yield* orToolError(scans.scan(tenant, scan_id))
      if (scan.failure === undefined) {
        return yield* new ToolUserError({
          kind: "invalid_args",
          reason: "SCAN_NOT_FAILED",
          message: `the scan ${scan_id} has not failed: it is ${scan.status}`
        })
      }
      const errors = yield* orToolError(
        reader.errors(tenant, { scan_id, limit: diagnosis_errors_max })
      )
      return { scan, ...diagnosisOf(scan.failure.code), errors }
    }),
    check_workspace_health: Effect.fnUntraced(function* (_, context) {
      const { tenant } = callOf(context)
      const now = yield* Clock.currentTimeMillis
      const workspace = yield* reader.workspace(tenant)
      const recent = yield* scans.scans(tenant, { limit: health_scans_max })
      const errors = yield* reader.errors(tenant, { limit: health_errors_max })
      return workspaceHealth(
        workspace,
        recent.map(({ scan }) => scan),
        errors,
        now
      )
    }, orToolError),
    get_recent_errors: Effect.fnUntraced(function* ({ limit, ...query }, context) {
      const found = yield* reader.errors(callOf(context).tenant, { ...query, limit: limit + 1 })
      const { items, more } = cut(found, limit)
      return { errors: items, more }
    }, orToolError)
  })
})

/** The tools of the troubleshooter, for a registry. */
export const troubleshooter: Family<ScanReader | WorkspaceReader> = govern(
  TroubleshooterTools,
  troubleshooterGovernance,
  troubleHandlers
)
