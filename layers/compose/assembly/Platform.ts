/**
 * The platform's records beside a runtime: what is evaluated, judged and proposed in a workspace, which is a tenant, and the tools
 * of the agents that speak of it. `test/calls/host` is something else: a host platform whose endpoints agents call directly.
 */
import type { Effect } from "effect"
import type { PlatformStores } from "../../../services/spectral/platform/PlatformStores.ts"
import type { GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { draftGovernance } from "../../../src/spectral/platform/DraftTools.ts"
import { failureClusterGovernance } from "../../../src/spectral/platform/FailureClusterTools.ts"
import { patternGovernance } from "../../../src/spectral/platform/PatternTool.ts"
import { summaryGovernance } from "../../../src/spectral/platform/SummaryTool.ts"
import * as ChangeTools from "../../spectral/platform/ChangeHandlers.ts"
import * as DraftTools from "../../spectral/platform/DraftHandlers.ts"
import * as FailureClusterTools from "../../spectral/platform/FailureClusterHandlers.ts"
import * as PatternTools from "../../spectral/platform/PatternTools.ts"
import * as SpecialistTools from "../../spectral/platform/SpecialistHandlers.ts"
import * as SummaryTools from "../../spectral/platform/SummaryTools.ts"

export { handlers as worldViews } from "../../spectral/platform/WorldViewProjection.ts"
export { RecordImporter } from "../../../services/spectral/platform/RecordImporter.ts"
export {
  platform_events,
  readPlatformEvent,
  subjectOf
} from "../../../src/spectral/platform/contracts/PlatformEvent.ts"
type Family = Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool, PlatformStores>

/** The tools of each of the Spectral Agent's specialists; they only read. */
export const specialists: Readonly<
  Record<"scan-analyst" | "onboarding-guide" | "framework-advisor" | "troubleshooter", Family>
> = {
  "scan-analyst": SpecialistTools.scanAnalyst,
  "onboarding-guide": SpecialistTools.onboardingGuide,
  "framework-advisor": SpecialistTools.frameworkAdvisor,
  troubleshooter: SpecialistTools.troubleshooter
}

/** The tools that change a workspace; each call asks a person first. */
export const changes: Family = ChangeTools.tools

const keysOf = (
  governance: Readonly<Record<string, { readonly namespace: string }>>
): ReadonlyArray<string> =>
  Object.entries(governance).map(([name, { namespace }]) => `${namespace}.${name}@1`)

/** The Operations Agent's tools for failure clusters. */
export const failureClusters: Family = FailureClusterTools.tools

/** The keys of these tools, for the agent's list of tools. */
export const failure_cluster_tools: ReadonlyArray<string> = keysOf(failureClusterGovernance)

/** The Operations Agent's tool that counts the workspace's records by state. */
export const summary: Family = SummaryTools.tools

/** The key of this tool, for the agent's list of tools. */
export const summary_tools: ReadonlyArray<string> = keysOf(summaryGovernance)

/** Tools for what failure clusters have in common, and for drafts of rubrics and system cards with their publication. */
export const authoring: ReadonlyArray<Family> = [PatternTools.tools, DraftTools.tools]

/** The keys of these tools, for the agent's list of tools. */
export const authoring_tools: ReadonlyArray<string> = [
  ...keysOf(patternGovernance),
  ...keysOf(draftGovernance)
]

/** All of these tools, for a registry. */
export const tools: ReadonlyArray<Family> = [
  ...Object.values(specialists),
  changes,
  failureClusters,
  summary,
  ...authoring
]
