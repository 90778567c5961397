/**
 * The platform's records beside a runtime: what is evaluated, judged and proposed in a workspace, which is a tenant, and the tools
 * of the agents that speak of it. `test/calls/host` is something else: a host platform whose endpoints agents call directly.
 */
import type { Effect } from "effect"
import type { PlatformStores } from "../../../services/spectral/platform/PlatformStores.ts"
import type { GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { draftGovernance } from "../../../src/spectral/platform/DraftTools.ts"
import {
  failureClusterGovernance,
  patternGovernance,
  summaryGovernance
} from "../../../src/spectral/platform/RecordTools.ts"
import * as ChangeTools from "../../spectral/platform/ChangeHandlers.ts"
import * as OperationsTools from "../../spectral/platform/OperationsHandlers.ts"
import * as SpecialistTools from "../../spectral/platform/SpecialistHandlers.ts"

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
export const failureClusters: Family = OperationsTools.failureClusters

/** The keys of these tools, for the agent's list of tools. */
export const failure_cluster_tools: ReadonlyArray<string> = keysOf(failureClusterGovernance)

/** The Operations Agent's tool that counts the workspace's records by state. */
export const summary: Family = OperationsTools.summary

/** The key of this tool, for the agent's list of tools. */
export const summary_tools: ReadonlyArray<string> = keysOf(summaryGovernance)

/** Tools for what failure clusters have in common, and for drafts of rubrics and system cards with their publication. */
export const authoring: ReadonlyArray<Family> = [OperationsTools.patterns, OperationsTools.drafts]

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
