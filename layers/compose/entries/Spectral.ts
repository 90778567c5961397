/**
 * The package's entry `troupe/spectral`: the reference application as one feature. It keeps what is known of workspaces and worlds,
 * and brings the tools of its agents, the operations on its records, and what its events cause.
 *
 * ```ts
 * const published = [credit]
 * const service = await start({
 *   agents: [...Result.getOrThrow(Spectral.agents()), ...Result.getOrThrow(Spectral.worldAgents(published))],
 *   features: [Spectral.feature({ worlds: published })],
 *   model
 * })
 * ```
 */
import { Layer } from "effect"
import type { PlatformStores } from "../../../services/spectral/platform/PlatformStores.ts"
import type { RuleProposals } from "../../../services/spectral/worlds/RuleProposals.ts"
import type { WorldPublisher } from "../../../services/spectral/worlds/WorldPublisher.ts"
import type { WorldReader } from "../../../services/spectral/worlds/WorldReader.ts"
import type { WorldAgentRunner } from "../../../services/spectral/worlds/contracts/WorldAgentRunner.ts"
import { eventHandlers } from "../../../src/spectral/agents/EventMessage.ts"
import { platform_events } from "../../../src/spectral/platform/contracts/PlatformEvent.ts"
import type { World } from "../../../src/spectral/worlds/World.ts"
import * as OperationsTools from "../../spectral/agents/OperationsTools.ts"
import * as DraftEffects from "../../spectral/service/DraftEffects.ts"
import * as RecordEffects from "../../spectral/service/RecordEffects.ts"
import * as WorldEffects from "../../spectral/worlds/WorldEffects.ts"
import type { WorldRuntime } from "../../spectral/worlds/LocalWorldAgentRunner.ts"
import { apiWith } from "../../service/AddedApi.ts"
import { addedGroup } from "../../service/AddedGroups.ts"
import { platformTables } from "../../stores/spectral/platform/PlatformTables.ts"
import * as StoredPlatform from "../../stores/spectral/platform/StoredPlatform.ts"
import { worldTables } from "../../stores/spectral/worlds/StoredWorlds.ts"
import * as StoredWorlds from "../../stores/spectral/worlds/StoredWorlds.ts"
import { featureLayer, storesOf } from "../assembly/FeatureLayer.ts"
import type { FeatureNeeds } from "../options/Feature.ts"
import * as Platform from "../assembly/Platform.ts"
import * as Worlds from "../assembly/Worlds.ts"

// The ports of its stores, and the runner of worlds.
export * from "../../../services/spectral/platform/FailureClusterTriage.ts"
export * from "../../../services/spectral/platform/PlatformStores.ts"
export * from "../../../services/spectral/platform/RecordCounter.ts"
export * from "../../../services/spectral/platform/RecordImporter.ts"
export * from "../../../services/spectral/platform/WorkspaceReader.ts"
export * from "../../../services/spectral/platform/WorkspaceSettings.ts"
export * from "../../../services/spectral/platform/WorldViews.ts"
export * from "../../../services/spectral/platform/contracts/ChangesetStore.ts"
export * from "../../../services/spectral/platform/contracts/DraftStore.ts"
export * from "../../../services/spectral/platform/contracts/FailureClusterReader.ts"
export * from "../../../services/spectral/platform/contracts/RecordPage.ts"
export * from "../../../services/spectral/platform/contracts/ScanReader.ts"
export * from "../../../services/spectral/worlds/RuleProposals.ts"
export * from "../../../services/spectral/worlds/WorldPublisher.ts"
export * from "../../../services/spectral/worlds/WorldReader.ts"
export * from "../../../services/spectral/worlds/contracts/WorldAgentRunner.ts"

export * as Operations from "../../../src/spectral/agents/Operations.ts"
export { spectralAgents as agents } from "../../../src/spectral/agents/SpectralAgents.ts"
export * as SpectralAgents from "../../../src/spectral/agents/SpectralAgents.ts"
export { worldAgents } from "../../../src/spectral/worlds/WorldAgent.ts"
export * as OperationsTools from "../../spectral/agents/OperationsTools.ts"
export * as Platform from "../assembly/Platform.ts"
export * as Worlds from "../assembly/Worlds.ts"

/** The ports of the stores of the feature. */
export type Stores = PlatformStores | RuleProposals | WorldPublisher | WorldReader

/** Its operations, with their effects. */
const groups = [
  addedGroup("records", "Records of a workspace", RecordEffects),
  addedGroup("drafts", "Drafts", DraftEffects),
  addedGroup("worlds", "Worlds", WorldEffects)
] as const

/** The API of a service with this feature, as `Server.TroupeApi` is that of one without. */
export const SpectralApi = apiWith(groups)

const stores = Layer.merge(StoredPlatform.layer, StoredWorlds.layer)

/** Its stores over those of a runtime, in memory or in SQL. */
const stored = storesOf(stores, () =>
  import("../../sql/spectral/SpectralTables.ts").then(({ layerOf }) =>
    layerOf([...platformTables, ...worldTables])
  )
)

/** Its stores and its operations. */
export const layer = featureLayer({ name: "spectral", groups, layer: stored })

export interface Options {
  /** The worlds whose agents the service has; their tools come along. Absent = none. */
  readonly worlds?: ReadonlyArray<World>
}

/** The feature. Its world agents are asked in this process; `Worlds.remoteRunner` asks those of another one. */
export const feature = ({ worlds = [] }: Options = {}) => ({
  name: "spectral",
  groups,
  tools: [
    OperationsTools.tools,
    Worlds.askWorldAgent,
    ...Worlds.tools(worlds),
    ...Platform.tools
  ] as const,
  deliveries: [Platform.worldViews],
  events: { handlers: eventHandlers, topics: Object.keys(platform_events) },
  layer: Layer.provideMerge(Worlds.runner, stored) as Layer.Layer<
    Stores | WorldAgentRunner | WorldRuntime,
    Layer.Error<typeof stored>,
    FeatureNeeds
  >,
  over: Worlds.connected
})
