/**
 * The package's entry `troupe/semstreams`, for applications that exchange SemStreams' messages: its tool component over a
 * registry and a tool queue, and its loops over a runtime's journal and approval desk. Calls pass the runtime's gate, and
 * decisions its desk. Its tools for facts, loops, flows and components are a feature, which has their stores.
 *
 * ```ts
 * const service = await start({ agents, features: [SemStreams.feature()], model })
 *
 * const config = yield* decodeComponentConfig({ approval_required: ["refund"] })
 * SemStreams.tools({ config, org: "acme", platform: "prod", tools: [refund] })   // over any ToolQueue
 * SemStreams.loops                                                              // over any runtime
 * ```
 */
import * as NodeCrypto from "@effect/platform-node-shared/NodeCrypto"
import { Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { MisdeclaredPolicy } from "../../../src/permission/PolicyCheck.ts"
import {
  allowedTools,
  configuredTool,
  withApprovals
} from "../../../src/semstreams/ComponentConfig.ts"
import type { MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import type { DuplicateTool, EmptyFamily } from "../../../src/tool/Registry.ts"
import type { PluginRefused } from "../../../src/tool/ToolPlugin.ts"
import { PermissionPolicy } from "../../../services/PermissionPolicy.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { ToolQueue } from "../../../services/ToolQueue.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"
import type { ComponentCatalog } from "../../../services/semstreams/ComponentCatalog.ts"
import type { FlowState } from "../../../services/semstreams/FlowState.ts"
import type { LoopStore } from "../../../services/semstreams/LoopStore.ts"
import type { TriplePublisher } from "../../../services/semstreams/TriplePublisher.ts"
import * as LocalToolRegistry from "../../runtime/directory/LocalToolRegistry.ts"
import type { ToolNotQueueable } from "../../runtime/queue/ServedTools.ts"
import type { WorkerRunning } from "../../runtime/queue/ToolQueueWorker.ts"
import * as ToolQueueWorker from "../../runtime/queue/ToolQueueWorker.ts"
import * as CoordinationTools from "../../semstreams/CoordinationTools.ts"
import * as ObservationTools from "../../semstreams/ObservationTools.ts"
import * as SemStreamsLoops from "../../semstreams/SemStreamsLoops.ts"
import * as SemStreamsTools from "../../semstreams/SemStreamsTools.ts"
import type { StartError as StoresError } from "../../sql/stores/SqlStores.ts"
import * as StoredComponentCatalog from "../../stores/semstreams/StoredComponentCatalog.ts"
import * as StoredFlowState from "../../stores/semstreams/StoredFlowState.ts"
import * as StoredLoopStore from "../../stores/semstreams/StoredLoopStore.ts"
import * as StoredTriplePublisher from "../../stores/semstreams/StoredTriplePublisher.ts"
import type { FeatureNeeds } from "../options/Feature.ts"
import { storesOf } from "../assembly/FeatureLayer.ts"

// The ports of its stores.
export * from "../../../services/semstreams/ComponentCatalog.ts"
export * from "../../../services/semstreams/FlowState.ts"
export * from "../../../services/semstreams/LoopStore.ts"
export * from "../../../services/semstreams/TriplePublisher.ts"

export { approvalRequired, isApprovalRequired } from "../../../src/queue/CallMessage.ts"
export { CallMessage, ResultMessage } from "../../../src/queue/CallMessage.ts"
export {
  ComponentConfig,
  decodeComponentConfig,
  exploringGroups
} from "../../../src/semstreams/ComponentConfig.ts"
export { limitsOf, Loop, LoopState, PendingApproval } from "../../../src/semstreams/Loop.ts"
export {
  consumerNameForTool,
  executeSubject,
  resultSubject
} from "../../../src/queue/CallMessage.ts"
export { SemStreamsLoops } from "../../semstreams/SemStreamsLoops.ts"
export type { Executed } from "../../semstreams/SemStreamsTools.ts"
export { SemStreamsTools } from "../../semstreams/SemStreamsTools.ts"
export * as CoordinationTools from "../../semstreams/CoordinationTools.ts"
export * as ObservationTools from "../../semstreams/ObservationTools.ts"

export interface ComponentOptions extends SemStreamsTools.Options {
  /** The capabilities that the tools get. Absent = none: a tool that needs a capability is refused. */
  readonly capabilities?: ReadonlyArray<string>
}

type Family = LocalToolRegistry.Family<unknown, unknown>

export interface Options<Families extends ReadonlyArray<Family>> extends ComponentOptions {
  /** The component's own tools; they replace shared tools with the same plain name. */
  readonly tools: Families
  readonly shared?: Families
}

/** The component, and the worker with its start, stop and health. */
export type Component = SemStreamsTools.SemStreamsTools | ToolQueueWorker.ToolQueueWorker

type StartError = MisdeclaredPolicy | ToolNotQueueable | WorkerRunning | StoreError

/** The component over a registry of the application, together with a worker of the registry's tools. */
export const component = (
  options: ComponentOptions
): Layer.Layer<Component, StartError, ToolQueue | ToolRegistry> => {
  const { capabilities, config } = options
  const worker = Layer.unwrap(
    ToolRegistry.useSync((registry) => {
      // A name on the list need not be registered: calls of it get a result that says so.
      const tools = allowedTools(config)?.filter((name) => registry.get(name) !== undefined)
      return ToolQueueWorker.layer({
        consumer_name_suffix: config.consumer_name_suffix,
        ...(tools === undefined ? undefined : { tools }),
        ...(capabilities === undefined ? undefined : { capabilities })
      })
    })
  )
  const policy = Layer.effect(
    PermissionPolicy,
    Effect.map(PermissionPolicy, (given) => withApprovals(config, given))
  )
  const crypto = Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto)
  return Layer.merge(
    SemStreamsTools.layer(options),
    worker.pipe(Layer.provide(policy), Layer.provide(crypto))
  )
}

/** The component with these tools, under the retries and the timeout of the configuration. */
export const tools = <const Families extends ReadonlyArray<Family>>(
  options: Options<Families>
): Layer.Layer<
  Component,
  | Effect.Error<Families[number]>
  | DuplicateTool
  | EmptyFamily
  | PluginRefused
  | MisdeclaredTool
  | StartError,
  Effect.Services<Families[number]> | ToolQueue
> => {
  const { config, shared = [], tools } = options
  const configured = (
    family: Family
  ): LocalToolRegistry.Family<
    Effect.Error<Families[number]> | MisdeclaredTool,
    Effect.Services<Families[number]>
  > =>
    Effect.flatMap(
      family as LocalToolRegistry.Family<
        Effect.Error<Families[number]>,
        Effect.Services<Families[number]>
      >,
      (all) => Effect.forEach(all, (tool) => configuredTool(config, tool))
    )
  return Layer.provide(
    component(options),
    LocalToolRegistry.layerFrom({ tools: tools.map(configured), shared: shared.map(configured) })
  )
}

/** The runs of a runtime as loops. */
export const loops = SemStreamsLoops.layer

/** The ports of the stores of the feature. */
export type Stores = ComponentCatalog | FlowState | LoopStore | TriplePublisher

const stored = Layer.mergeAll(
  StoredComponentCatalog.layer,
  StoredFlowState.layer,
  StoredLoopStore.layer,
  StoredTriplePublisher.layer
)

/** The feature's stores over those of a runtime, in memory or in SQL. */
export const layer: Layer.Layer<Stores, StoresError, FeatureNeeds> = storesOf(stored, () =>
  import("../../sql/semstreams/SemStreamsTables.ts").then((tables) => tables.layer)
)

export interface FeatureOptions {
  /** Adds `decide` and `emit_diagnosis`, which write facts. Absent = the tools that only read. */
  readonly coordination?: CoordinationTools.Options
}

/** The feature: tools that read ended loops, flows and components. An agent has those that its own list names. */
export const feature = ({ coordination }: FeatureOptions = {}) => ({
  name: "semstreams",
  groups: [] as const,
  tools: [
    ObservationTools.tools,
    ...(coordination === undefined ? [] : [CoordinationTools.tools(coordination)])
  ] as const,
  deliveries: [] as const,
  events: { handlers: {}, topics: [] as ReadonlyArray<string> },
  layer,
  over: Layer.empty
})
