/**
 * One runtime over any stores and any model: agents and their tools, the gate, the desk, the relay. Every composition of
 * this folder is this one with other answers beneath it.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { RunId } from "../../src/Ids.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import type { AgentDirectory } from "../../services/AgentDirectory.ts"
import type { AgentMemories, AgentMemory } from "../../services/AgentMemory.ts"
import type { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import type { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import type { RoomHandlers } from "../../services/DeliveryHandlers.ts"
import { DeliveryFailed, DeliveryRefused } from "../../services/DeliveryHandlers.ts"
import type { ModelGateway } from "../../services/ModelGateway.ts"
import type { Outbox } from "../../services/Outbox.ts"
import type { JournalError, RunJournal } from "../../services/RunJournal.ts"
import { TaskDispatch } from "../../services/TaskDispatch.ts"
import type { StoreError, TaskStore } from "../../services/TaskStore.ts"
import { dispatched_topic } from "../../services/TaskStore.ts"
import type { ToolRegistry } from "../../services/ToolRegistry.ts"
import * as LocalAgentDirectory from "../runtime/LocalAgentDirectory.ts"
import * as LocalAgentRuntime from "../runtime/LocalAgentRuntime.ts"
import * as LocalApprovalDesk from "../runtime/LocalApprovalDesk.ts"
import * as LocalToolRegistry from "../runtime/LocalToolRegistry.ts"
import * as MergedDeliveryHandlers from "../runtime/MergedDeliveryHandlers.ts"
import * as OutboxRelay from "../runtime/OutboxRelay.ts"

export interface Options<E, R> {
  readonly agents: ReadonlyArray<AgentSpec>
  /** Families of tools, each an Effect over the services that its handlers need. */
  readonly tools: ReadonlyArray<Effect.Effect<ReadonlyArray<GovernedTool<AgentMemory>>, E, R>>
  /** Handlers of outbox topics beside the runtime's own. */
  readonly deliveries?: ReadonlyArray<Effect.Effect<RoomHandlers, E, R>>
}

/** What a runtime stands on. */
export type Foundation =
  | AgentMemories
  | ApprovalRecords
  | ModelGateway
  | Outbox
  | RunJournal
  | TaskStore

/** Dispatched tasks go to their actors. */
const taskDeliveries: Effect.Effect<RoomHandlers, never, TaskDispatch> = Effect.map(
  TaskDispatch,
  (dispatch): RoomHandlers => [
    [
      dispatched_topic,
      (message) => {
        const { payload } = message
        const id =
          typeof payload === "object" && payload !== null && "task_id" in payload
            ? payload.task_id
            : undefined
        return typeof id === "string"
          ? Effect.mapError(
              dispatch.deliver(id as RunId),
              (error) => new DeliveryFailed({ message: error.message })
            )
          : Effect.fail(new DeliveryRefused({ message: "the payload names no task" }))
      }
    ]
  ]
)

export const layer = <E, R>(
  options: Options<E, R>
): Layer.Layer<
  AgentRuntime | TaskDispatch | ApprovalDesk | AgentDirectory | ToolRegistry,
  | E
  | JournalError
  | StoreError
  | LocalAgentDirectory.MisdeclaredAgent
  | LocalToolRegistry.DuplicateTool
  | MergedDeliveryHandlers.DuplicateDeliveryHandler,
  R | Foundation
> => {
  const crypto = Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto)
  const agents = LocalAgentDirectory.layer(options.agents).pipe(
    Layer.provideMerge(LocalToolRegistry.layer(...options.tools))
  )
  const runtime = LocalAgentRuntime.layer.pipe(
    Layer.provideMerge(LocalApprovalDesk.layer),
    Layer.provideMerge(agents),
    Layer.provide(crypto)
  )
  const relay = OutboxRelay.layer.pipe(
    Layer.provide(
      MergedDeliveryHandlers.layer<E, R | TaskDispatch>(
        taskDeliveries,
        ...(options.deliveries ?? [])
      )
    ),
    Layer.provide(crypto)
  )
  return relay.pipe(Layer.provideMerge(runtime))
}
