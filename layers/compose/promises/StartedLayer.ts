/**
 * Everything that a process runs, as one Layer made from the options of a start. `StartedService` runs it for promises, `Troupe`
 * for Effects. Modules that an option needs are loaded only if it is given.
 */
import { getHeapStatistics } from "node:v8"
import * as NodeCrypto from "@effect/platform-node-shared/NodeCrypto"
import { Effect, Layer, Result, Struct } from "effect"
import { SecureRandom } from "effect/crypto"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { withDefaults } from "../../../src/value/PlainObject.ts"
import { graphAgent } from "../../../src/graph/ToolGraph.ts"
import { inMilliseconds, milliseconds } from "../../../src/value/Times.ts"
import { DeclaredRoles } from "../../../src/principal/Rights.ts"
import type { AgentName } from "../../../src/value/Ids.ts"
import { CustomerAgents, DeclaredGuards } from "../../../services/AgentDirectory.ts"
import { McpServers } from "../../../services/McpServers.ts"
import type { ModelError, ModelGateway } from "../../../services/ModelGateway.ts"
import type * as ImportedMcpServers from "../../mcp/ImportedMcpServers.ts"
import * as NoMcpServers from "../../mcp/NoMcpServers.ts"
import { RuntimeConfig } from "../../runtime/actor/RuntimeConfig.ts"
import type * as CallRecorder from "../../runtime/feed/CallRecorder.ts"
import { memory_bytes_min } from "../../runtime/loop/RunMemory.ts"
import * as ModelUsageTelemetry from "../../telemetry/ModelUsageTelemetry.ts"
import * as OpenTelemetry from "../../telemetry/OpenTelemetry.ts"
import * as ToolCallTelemetry from "../../telemetry/ToolCallTelemetry.ts"
import * as UnhostedTelemetry from "../../telemetry/UnhostedTelemetry.ts"
import * as ProcessTelemetry from "../../telemetry/ProcessTelemetry.ts"
import * as StandingTelemetry from "../../telemetry/StandingTelemetry.ts"
import * as AwaitedMcpTools from "../assembly/AwaitedMcpTools.ts"
import * as EmbeddedHttp from "./EmbeddedHttp.ts"
import * as ObserversInput from "../options/ObserversInput.ts"
import type { ConsoleSettings } from "../options/CheckedConsole.ts"
import { checkOptions } from "../options/CheckedOptions.ts"
import * as Channels from "../assembly/Channels.ts"
import * as ChannelMethods from "./ChannelMethods.ts"
import { StartSettings } from "../../../services/StartSettings.ts"
import { shownSettings } from "../options/ShownSettings.ts"
import { ApprovalUrl } from "../../service/ApprovalUrl.ts"
import { checkCustomerAgents } from "../../service/CustomerRules.ts"
import type { EventOptions } from "../options/ServiceOptions.ts"
import type { ToolServices, Options } from "../options/ServiceOptions.ts"
import type { ResolverError, ToolConfigs } from "../assembly/ResolvedConfigs.ts"
import { resolveConfigs } from "../assembly/ResolvedConfigs.ts"
import { featureLayer } from "../assembly/FeatureLayer.ts"
import * as Graphs from "../assembly/Graphs.ts"
import { isObject } from "../options/OptionShapes.ts"
import * as OpenCalls from "./OpenCalls.ts"
import * as Runtime from "../assembly/Runtime.ts"
import { warnWhileBuilding } from "../assembly/SlowStart.ts"
import { definedOptions } from "../options/OptionShapes.ts"
import { readEnvironment } from "../options/ReadEnvironment.ts"
import * as Stores from "../assembly/StoreLayers.ts"
import type { AnyFeature } from "../options/Feature.ts"
import type { PostgresStore } from "../options/ServiceOptions.ts"

type FeatureError = Layer.Error<AnyFeature["layer"]>
type FeatureNeeds = Layer.Services<AnyFeature["layer"]>

/** The options with times as numbers, except those of HTTP, which are decoded separately. */
interface PlainOptions extends Omit<
  Options,
  "drain_ms" | "events" | "files" | "retention" | "store" | "toolConfigs" | "webhooks"
> {
  readonly drain_ms?: number
  readonly events?: Omit<EventOptions, "retention_ms"> & { readonly retention_ms?: number }
  readonly files?: Stores.FileBounds
  readonly retention?: Stores.RetentionOptions
  readonly store?: "ephemeral" | { readonly directory: string } | PostgresStore
  readonly toolConfigs?: ToolConfigs
  readonly webhooks?: Channels.WebhookBounds
}

const timed = ["events", "files", "mcp", "retention", "store", "toolConfigs", "webhooks"] as const

/** Values that are not objects, or that cannot be read, are left for the check of the options, which refuses them. */
const plainTimes = (options: Options): PlainOptions =>
  Result.getOrElse(
    Result.try(() => {
      if (!isObject(options) || Array.isArray(options)) return options as PlainOptions
      const plain: Record<string, unknown> = { ...options }
      plain["drain_ms"] = milliseconds(plain["drain_ms"])
      for (const name of timed) {
        const levels = name === "mcp" ? 3 : 1
        if (plain[name] !== undefined) plain[name] = inMilliseconds<unknown>(plain[name], levels)
      }
      return plain as unknown as PlainOptions
    }),
    () => options as PlainOptions
  )

/** The stores of the features over those of the service. */
const featuresOf = ({ features = [] }: PlainOptions) =>
  features.reduce<Layer.Layer<never, FeatureError, FeatureNeeds>>(
    (all, feature) => Layer.provideMerge(featureLayer(feature), all),
    Layer.empty
  )

/** What the features run as long as the runtime does. They have their own services from `featuresOf`. */
const overOf = ({ features = [] }: PlainOptions) =>
  features.reduce<Layer.Layer<never>>(
    (all, { over }) => Layer.merge(all, over as Layer.Layer<never>),
    Layer.empty
  )

/** The options with the console among their features, if they ask for it. */
const withConsole = Effect.fnUntraced(function* (
  options: PlainOptions,
  settings: ConsoleSettings | undefined
) {
  if (settings === undefined) return options
  const { features = [] } = options
  const { consoleFeature } = yield* Effect.promise(() => import("../assembly/ConsoleFeature.ts"))
  const added = yield* consoleFeature(settings)
  const at = features.findIndex(({ name }) => name === added.name)
  if (at >= 0) {
    const reason = "the console has this name: call the feature something else"
    return yield* new InvalidInput({ field: `features.${at}.name`, reason })
  }
  return { ...options, features: [...features, added] }
})

const storesOf = ({ retention, store = "ephemeral" }: PlainOptions) => {
  if (store === "ephemeral") return Stores.ephemeral
  const stores =
    "directory" in store ? Stores.directory(store.directory) : Stores.postgresStore(store)
  return retention === undefined ? stores : Stores.withRetention(stores, retention)
}

/** What runs may take of V8's heap where the options do not say it: half. The rest is for what is loaded, readers and requests. */
const heapShare = (): number => Math.max(memory_bytes_min, getHeapStatistics().heap_size_limit / 2)

/** The times and bounds of the runtime, with those of the options. */
const boundsOf = ({
  drain_ms,
  in_flight_bytes_max = heapShare()
}: PlainOptions): Layer.Layer<never> =>
  Layer.effect(
    RuntimeConfig,
    Effect.map(RuntimeConfig, (defaults) =>
      withDefaults(defaults, { drain_ms, in_flight_bytes_max })
    )
  )

/** Whether somebody can read metrics: at `/metrics`, or in what is exported. */
const isMeasured = ({ http, telemetry }: PlainOptions): boolean =>
  http !== undefined || OpenTelemetry.exporterVariables(telemetry, process.env) !== undefined

/** Metrics of calls, model turns and the process. */
const metricsOf = (options: PlainOptions): Layer.Layer<never> =>
  isMeasured(options)
    ? Layer.mergeAll(ToolCallTelemetry.metrics, ModelUsageTelemetry.layer, ProcessTelemetry.layer)
    : Layer.empty

/** Loads the recorder only if it is asked for. */
const recorderOf = (record = false): Effect.Effect<typeof CallRecorder.layer> =>
  record
    ? Effect.map(
        Effect.promise(() => import("../../runtime/feed/CallRecorder.ts")),
        ({ layer }) => layer
      )
    : Effect.succeed(Layer.empty)

/** Loads the MCP client only if servers are declared. */
const mcpOf = (
  options: Options["mcp"]
): Effect.Effect<ReturnType<typeof ImportedMcpServers.layer>> =>
  options === undefined
    ? Effect.succeed(NoMcpServers.layer)
    : Effect.map(
        Effect.promise(() => import("../../mcp/ImportedMcpServers.ts")),
        ({ layer }) => layer(options)
      )

/** A Layer among the options, with the errors and requirements that are known here. */
const withoutTypes = (given: Layer.Layer<never, unknown, unknown> = Layer.empty) =>
  given as Layer.Layer<never>

/** The error of a Layer among the options has the type of that Layer, which `Troupe.layer` adds. */
type Model = Layer.Layer<ModelGateway, ModelError>

/** Loads the clients of providers, unless the model is a Layer. */
const modelOf = Effect.fnUntraced(function* (model: Options["model"]) {
  if (Layer.isLayer(model)) return warnWhileBuilding("the Layer of `model`", model as Model)
  const [{ planOf }, { layer }] = yield* Effect.promise(() =>
    Promise.all([
      import("../../model/providers/ChosenModels.ts"),
      import("../../model/plan/ResilientModelGateway.ts")
    ])
  )
  const [first, ...others] = Array.isArray(model) ? model : [model]
  // Checked before anything is opened, because a name or a key may be wrong.
  const made: Model = layer(Effect.succeed(yield* planOf([first, ...others])))
  return made
})

/** Reads the graphs, and wraps the model so that they answer first; without graphs nothing is loaded. */
const withGraphs = Effect.fnUntraced(function* ({ graphs = [] }: PlainOptions, model: Model) {
  if (graphs.length === 0) return { graphs: [], model }
  const { layer } = yield* Effect.promise(() => import("../../model/tape/GraphModelGateway.ts"))
  const loaded = yield* Graphs.read(graphs)
  return { graphs: loaded, model: layer(loaded).pipe(Layer.provide(model)) }
})

const mcpTools = McpServers.useSync(({ tools }) => tools)

/** The errors and requirements that are known here; the type of `Troupe.layer` adds those of the given options. */
type Built = Runtime.Options<ResolverError, ToolServices>

const accessOf = (
  customer_agents: ReadonlyArray<AgentName>,
  { approval_url, http, roles }: Effect.Success<ReturnType<typeof checkOptions>>,
  options: PlainOptions
) =>
  Layer.mergeAll(
    Layer.succeed(CustomerAgents, customer_agents),
    Layer.succeed(DeclaredRoles, roles),
    Layer.succeed(DeclaredGuards, options.guards ?? []),
    Layer.succeed(ApprovalUrl, approval_url),
    Layer.succeed(StartSettings, shownSettings(options, http)),
    Channels.webhookBounds(options.webhooks)
  )

/** Everything that a process runs, made from its options. Fails if an option is wrong. */
const startedLayer = Effect.fnUntraced(function* (given: Options) {
  const plain = plainTimes(given)
  const checked = yield* checkOptions(plain)
  const options = yield* withConsole(plain, checked.http?.console)
  const { resolvers: resolved, tools: configured } = yield* resolveConfigs(options.toolConfigs)
  const mcp = yield* mcpOf(options.mcp)
  const { graphs, model } = yield* withGraphs(options, yield* modelOf(options.model))
  const customer_agents = yield* checkCustomerAgents(
    checked.customer_agents,
    [...options.agents, ...graphs.map(({ spec }) => spec)],
    "customer_agents"
  )
  const { features = [] } = options
  const channels = Channels.make({
    adapters: options.channels ?? [],
    events: yield* ChannelMethods.intakeOf(
      checked.events,
      [...options.agents, ...graphs.map(graphAgent)],
      features
    )
  })
  const recorder = yield* recorderOf(options.observe?.record)
  const telemetry = yield* Effect.promise(() => OpenTelemetry.layer(options.telemetry, process.env))
  const agents = Runtime.layer({
    agents: options.agents,
    graphs,
    ...Struct.pick(options, ["prices", "budgets", "policy"]),
    tools: [
      ...(options.tools ?? []),
      ...features.flatMap(({ tools }) => tools),
      Effect.succeed(configured),
      mcpTools
    ],
    shared: options.shared ?? [],
    resolved: [
      ...resolved,
      AwaitedMcpTools.resolver([...options.agents, ...graphs.map(graphAgent)])
    ],
    deliveries: [
      ...channels.deliveries,
      ...features.flatMap(({ deliveries }) => deliveries),
      ...(options.deliveries ?? [])
    ]
  } as Built)
  return EmbeddedHttp.layer(checked.http).pipe(
    Layer.provide(withoutTypes(options.ingress)),
    Layer.merge(UnhostedTelemetry.layer),
    Layer.merge(overOf(options)),
    Layer.provideMerge(warnWhileBuilding("its tools and agents", agents)),
    Layer.merge(isMeasured(options) ? StandingTelemetry.layer : Layer.empty),
    Layer.provideMerge(Layer.merge(mcp, channels.layer)),
    Layer.provide(recorder),
    Layer.provide(ObserversInput.layer(options.observe)),
    Layer.provide(metricsOf(options)),
    Layer.provide(model),
    Layer.provide(
      options.tokenizer === undefined
        ? Layer.empty
        : warnWhileBuilding("the Layer of `tokenizer`", withoutTypes(options.tokenizer))
    ),
    Layer.provideMerge(OpenCalls.layer),
    Layer.provideMerge(featuresOf(options)),
    Layer.provideMerge(withoutTypes(options.ports)),
    Layer.provideMerge(warnWhileBuilding("its store", storesOf(options))),
    Layer.provide(Layer.merge(Stores.fileBounds(options.files), boundsOf(options))),
    Layer.provideMerge(telemetry),
    Layer.provideMerge(accessOf(customer_agents, checked, options)),
    Layer.provideMerge(Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto))
  )
})

/** Everything that a process runs. If an option is wrong, it fails before anything is opened. */
export const layer = (options: Options) =>
  Layer.unwrap(startedLayer(definedOptions(options) as Options)).pipe(
    Layer.provideMerge(readEnvironment())
  )

/** The services of a started runtime. */
export type Services = Layer.Success<ReturnType<typeof layer>>

/** Why a start fails, besides the errors of the tools, Layers and Effects of its options. */
export type StartError = Layer.Error<ReturnType<typeof layer>>
