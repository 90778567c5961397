/**
 * One runtime over any stores and any model: agents and their tools, the gate, the approval desk and the relay. The other
 * compositions in this folder use this one with different implementations of its ports.
 */
import * as NodeCrypto from "@effect/platform-node-shared/NodeCrypto"
import { Effect, Layer, Option, Schema } from "effect"
import type { Budget } from "../../../src/cost/Budget.ts"
import type { MisdeclaredPrice, PriceTable } from "../../../src/cost/PriceTable.ts"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import type { GraphRefused, ToolGraph } from "../../../src/graph/ToolGraph.ts"
import { graphAgent } from "../../../src/graph/ToolGraph.ts"
import { checkNodes } from "../../../src/graph/NodeCheck.ts"
import { RunId } from "../../../src/value/Ids.ts"
import type { Policy } from "../../../src/permission/Policy.ts"
import type { MisdeclaredPolicy } from "../../../src/permission/PolicyCheck.ts"
import type { DuplicateTool, EmptyFamily } from "../../../src/tool/Registry.ts"
import type { PluginRefused } from "../../../src/tool/ToolPlugin.ts"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { AgentMemories } from "../../../services/AgentMemory.ts"
import type { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import type { ApprovalRecords } from "../../../services/ApprovalRecords.ts"
import type { AuthorizationDesk } from "../../../services/AuthorizationDesk.ts"
import type { AuthorizationRecords } from "../../../services/AuthorizationRecords.ts"
import type { BlobStore } from "../../../services/BlobStore.ts"
import type { ConversationStore } from "../../../services/ConversationStore.ts"
import type { DeliveryHandlers, RoomHandlers } from "../../../services/DeliveryHandlers.ts"
import { DeliveryFailed, DeliveryRefused } from "../../../services/DeliveryHandlers.ts"
import type { IdempotencyKeys } from "../../../services/IdempotencyKeys.ts"
import type { KillSwitch } from "../../../services/KillSwitch.ts"
import type { ModelGateway } from "../../../services/ModelGateway.ts"
import type { Outbox } from "../../../services/Outbox.ts"
import { BudgetBook } from "../../../services/BudgetBook.ts"
import type { BudgetLedger } from "../../../services/BudgetLedger.ts"
import { PermissionPolicy } from "../../../services/PermissionPolicy.ts"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { RunPorts } from "../../../services/Stores.ts"
import type { SubjectErasure } from "../../../services/SubjectErasure.ts"
import { TaskDispatch } from "../../../services/TaskDispatch.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { TaskStore } from "../../../services/TaskStore.ts"
import { dispatched_topic } from "../../../services/TaskStore.ts"
import type { ToolStops } from "../../../services/ToolStops.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"
import * as CheckedAgents from "../../runtime/directory/CheckedAgents.ts"
import * as DeclaredPriceBook from "../../runtime/directory/DeclaredPriceBook.ts"
import * as Recovery from "../../runtime/actor/Recovery.ts"
import * as LocalAgentDirectory from "../../runtime/directory/LocalAgentDirectory.ts"
import * as LocalAgentRuntime from "../../runtime/actor/LocalAgentRuntime.ts"
import * as LocalApprovalDesk from "../../runtime/approval/LocalApprovalDesk.ts"
import * as LocalAuthorizationDesk from "../../runtime/approval/LocalAuthorizationDesk.ts"
import * as LocalKillSwitch from "../../runtime/approval/LocalKillSwitch.ts"
import * as LocalToolRegistry from "../../runtime/directory/LocalToolRegistry.ts"
import * as OpenQuestions from "../../runtime/approval/OpenQuestions.ts"
import type { MisdeclaredTool } from "../../../src/tool/MisdeclaredTool.ts"
import type { MisdeclaredAgent } from "../../runtime/directory/ResolvedAgent.ts"
import * as MergedDeliveryHandlers from "../../runtime/relay/MergedDeliveryHandlers.ts"
import * as OutboxRelay from "../../runtime/relay/OutboxRelay.ts"
import * as ModelTelemetry from "../../telemetry/ModelTelemetry.ts"
import * as ToolRegistryTelemetry from "../../telemetry/ToolRegistryTelemetry.ts"
import * as PooledRandom from "./PooledRandom.ts"

/** `E` and `R` are the errors and requirements of building the tools, plugins and handlers. */
export interface Options<E = unknown, R = unknown> {
  readonly agents: ReadonlyArray<AgentSpec>
  /**
   * Agents that answer by running their graphs; the model gateway has to support them (`GraphModelGateway`). Their nodes are
   * checked against the tools before anything starts.
   */
  readonly graphs?: ReadonlyArray<ToolGraph>
  /**
   * Decides which calls run, need approval or are refused, in addition to what the tools declare. Absent = the categories of the
   * tools decide.
   */
  readonly policy?: Policy | undefined
  /** The prices of models, for the ledger and `cost_max`; checked at start. Absent = no costs are computed. */
  readonly prices?: PriceTable | undefined
  /** The budgets that every agent is under; checked at start. Absent = those of the agents alone. */
  readonly budgets?: ReadonlyArray<Budget> | undefined
  /** Single tools and families of them, each an Effect over the services that its bodies need. */
  readonly tools: ReadonlyArray<LocalToolRegistry.Family<E, R>>
  /**
   * Tools that `tools` may replace by ones with the same plain name, also under the manifest of a plugin; in `tools` itself they
   * would be duplicates.
   */
  readonly shared?: ReadonlyArray<LocalToolRegistry.Shared<E, R>>
  /** Functions that make tools from registered ones and replace them, such as `BuiltinTools.tools` of `troupe/tools`. */
  readonly resolved?: ReadonlyArray<LocalToolRegistry.Resolver<E, R>>
  /** Handlers of outbox topics, in addition to the runtime's own. */
  readonly deliveries?: ReadonlyArray<Effect.Effect<RoomHandlers, E, R>>
}

type Listed<O, Field> = Field extends keyof O
  ? NonNullable<O[Field]> extends ReadonlyArray<infer Each>
    ? Each
    : never
  : never

/** Of plugins. */
type ToolsOf<Each> = Each extends { readonly tools: infer Tools } ? Tools : never

/** The Effects that are built with the runtime. Each may need services of its own. */
type EffectsOf<O> =
  | Extract<Listed<O, "tools" | "shared" | "deliveries">, Effect.Effect<unknown, unknown, unknown>>
  | ToolsOf<Listed<O, "shared">>
  | (Listed<O, "resolved"> extends (registered: never) => infer Tools ? Tools : never)

/** The services that a runtime needs. */
export type Foundation =
  | AgentMemories
  | ApprovalRecords
  | AuthorizationRecords
  | BlobStore
  | BudgetLedger
  | ConversationStore
  | IdempotencyKeys
  | ModelGateway
  | Outbox
  | RunPorts
  | SubjectErasure
  | TaskStore
  | ToolStops

/** The payload of a dispatched task. */
const decodeDispatched = Schema.decodeUnknownOption(Schema.Struct({ task_id: RunId }))

/** Delivers dispatched tasks to their actors. */
const taskDeliveries: Effect.Effect<RoomHandlers, never, TaskDispatch> = Effect.map(
  TaskDispatch,
  (dispatch): RoomHandlers => [
    [
      dispatched_topic,
      (message) => {
        const task = Option.getOrUndefined(decodeDispatched(message.payload))
        return task === undefined
          ? Effect.fail(new DeliveryRefused({ message: "the payload names no task" }))
          : Effect.mapError(
              dispatch.deliver(task.task_id),
              (error) => new DeliveryFailed({ message: error.message })
            )
      },
      dispatch.agents
    ]
  ]
)

const checkedGraphs = (
  graphs: ReadonlyArray<ToolGraph>
): Layer.Layer<never, GraphRefused, ToolRegistry> =>
  Layer.effectDiscard(
    ToolRegistry.use((registry) =>
      Effect.forEach(graphs, (graph) => checkNodes(graph, registry), { discard: true })
    )
  )

/**
 * Built last and closed first, so that no run starts anything new while the relay and the sweeps finish what they have in flight.
 */
const drainOnClose: Layer.Layer<never, never, TaskDispatch> = Layer.effectDiscard(
  TaskDispatch.use(({ drain }) => Effect.addFinalizer(() => drain))
)

const make = <E, R>(options: Options<E, R>) => {
  const crypto = Layer.merge(NodeCrypto.layerDigest, PooledRandom.layer)
  const { graphs = [] } = options
  const agents = Layer.merge(CheckedAgents.layer, ToolRegistryTelemetry.layer).pipe(
    Layer.provideMerge(LocalAgentDirectory.layer([...options.agents, ...graphs.map(graphAgent)])),
    // Checked before the directory is built: its error about a missing tool would not name the node of the graph.
    Layer.provide(checkedGraphs(graphs)),
    Layer.provideMerge(LocalToolRegistry.layerFrom(options))
  )
  const prices: Layer.Layer<never, MisdeclaredPrice> =
    options.prices === undefined ? Layer.empty : DeclaredPriceBook.layer(options.prices)
  const budgets: Layer.Layer<never> =
    options.budgets === undefined ? Layer.empty : Layer.succeed(BudgetBook, options.budgets)
  const runtime = LocalAgentRuntime.layer.pipe(
    Layer.provideMerge(Layer.merge(LocalApprovalDesk.layer, LocalAuthorizationDesk.layer)),
    Layer.provideMerge(OpenQuestions.layer),
    Layer.provideMerge(agents),
    Layer.provide(Layer.merge(prices, budgets)),
    Layer.provideMerge(
      options.policy === undefined ? Layer.empty : Layer.succeed(PermissionPolicy, options.policy)
    ),
    Layer.provideMerge(LocalKillSwitch.layer),
    Layer.provide(crypto),
    Layer.provide(ModelTelemetry.layer)
  )
  const relay = OutboxRelay.layer.pipe(
    Layer.provideMerge(
      MergedDeliveryHandlers.layer<E, R | TaskDispatch>(
        taskDeliveries,
        ...(options.deliveries ?? [])
      )
    ),
    Layer.provide(crypto)
  )
  return drainOnClose.pipe(
    Layer.provideMerge(Layer.merge(relay, Recovery.audit)),
    Layer.provideMerge(runtime)
  )
}

export const layer = <O extends Options>(
  options: O
): Layer.Layer<
  | AgentDirectory
  | AgentRuntime
  | ApprovalDesk
  | AuthorizationDesk
  | DeliveryHandlers
  | KillSwitch
  | OpenQuestions.OpenQuestions
  | TaskDispatch
  | ToolRegistry,
  | Effect.Error<EffectsOf<O>>
  | JournalError
  | StoreError
  | GraphRefused
  | MisdeclaredAgent
  | MisdeclaredTool
  | MisdeclaredPolicy
  | MisdeclaredPrice
  | DuplicateTool
  | EmptyFamily
  | PluginRefused
  | MergedDeliveryHandlers.DuplicateDeliveryHandler,
  Effect.Services<EffectsOf<O>> | Foundation
> => make(options as Options<Effect.Error<EffectsOf<O>>, Effect.Services<EffectsOf<O>>>)
