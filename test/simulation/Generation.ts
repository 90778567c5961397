/**
 * One process with the unmodified runtime in it, over the world's store. It is started, called from outside, paused,
 * stopped or killed; a call into a process that dies is never answered, and whoever called is told so.
 */
import type { Fiber } from "effect"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import { DeclaredGuards } from "../../services/AgentDirectory.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import type { RoomHandlers } from "../../services/DeliveryHandlers.ts"
import { DeliveryFailed } from "../../services/DeliveryHandlers.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import { ToolCallObservers } from "../../services/RunObserver.ts"
import { PolicyVersion } from "../../src/permission/PolicyVersion.ts"
import { RelayConfig } from "../../layers/runtime/relay/OutboxRelay.ts"
import { make, LoopScheduling } from "../../layers/runtime/fiber/LoopScheduler.ts"
import * as RuntimeConfig from "../../layers/runtime/actor/RuntimeConfig.ts"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as EphemeralBlobStore from "../../layers/ephemeral/EphemeralBlobStore.ts"
import * as StoredToolStops from "../../layers/stores/StoredToolStops.ts"
import * as EphemeralSubjectErasure from "../../layers/ephemeral/EphemeralSubjectErasure.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import * as StoredAuthorizationRecords from "../../layers/stores/StoredAuthorizationRecords.ts"
import { onRows } from "../contracts/OnRows.ts"
import * as EphemeralMemoryStore from "../../layers/ephemeral/EphemeralMemoryStore.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import { agents, model, tools } from "./Agents.ts"
import { guards } from "./Guards.ts"
import { Process, rng } from "./Kernel.ts"
import type { Ports } from "./Ports.ts"
import { io, layer as portsLayer } from "./Ports.ts"
import type { World } from "./World.ts"

export type Services = AgentRuntime | ApprovalDesk | Outbox | OutboxReplayer

/** A seed that is played with so many loops a turn. */
export interface Played {
  readonly seed: number
  readonly loops_per_turn: number
}

/** A bug that is planted: ports, tools or a model that answer wrongly. */
export interface Mutation {
  readonly ports?: (ports: Ports, world: World, process: Process) => Partial<Ports>
  readonly tools?: (
    tools: ReadonlyArray<GovernedTool<AgentMemory>>,
    world: World
  ) => ReadonlyArray<GovernedTool<AgentMemory>>
  readonly model?: (model: ModelGateway["Service"], world: World) => ModelGateway["Service"]
  readonly scheduling?: typeof make
  /** Seeds that see it, where most do not: they are tried first. */
  readonly known?: ReadonlyArray<Played>
}

export const lease_ms = 3_000

const config: RuntimeConfig.RuntimeConfig = {
  ...RuntimeConfig.defaults,
  park_ms: 700,
  idle_ms: 1_500,
  sweep_ms: 1_000,
  lease_ms,
  drain_ms: 1_000,
  audit_first_ms: 0,
  rehydrate_max: 2
}

export const note_topic = "sim.note"

const notes = (world: World, process: Process): Effect.Effect<RoomHandlers> =>
  Effect.succeed([
    [
      note_topic,
      (message) =>
        io(
          world,
          process,
          "note",
          Effect.suspend(() => {
            if (world.chance(world.faults.delivery)) {
              world.count("a delivery that failed")
              return Effect.fail(new DeliveryFailed({ message: "not now" }))
            }
            if (!message.replayed) {
              world.deliveries.push({ key: message.key, id: message.id, place: message.key_seq })
            }
            return Effect.void
          })
        )
    ]
  ])

const runtime = (world: World, process: Process, mutation: Mutation, policy_version: string) => {
  const stores = portsLayer(
    world,
    process,
    (ports) => mutation.ports?.(ports, world, process) ?? {}
  )
  const gateway = model(world, process)
  const made = tools(world, process)
  const settings = Layer.mergeAll(
    Layer.succeed(RuntimeConfig.RuntimeConfig, { ...config, loops_per_turn: world.loops_per_turn }),
    Layer.succeed(LoopScheduling, mutation.scheduling ?? make),
    Layer.succeed(PolicyVersion, policy_version),
    Layer.succeed(DeclaredGuards, guards(world)),
    Layer.succeed(RelayConfig, {
      concurrency: 4,
      timeout_ms: 2_000,
      lease_margin_ms: 1_000,
      sweep_ms: 1_000,
      attempts_max: 3,
      backoff_initial_ms: 100,
      stop_ms: 500
    }),
    Layer.succeed(ToolCallObservers, [
      ({ call, run }) => {
        const key = `${run} ${call}`
        world.told.set(key, (world.told.get(key) ?? 0) + 1)
      }
    ])
  )
  return Runtime.layer({
    agents: agents(world),
    tools: [Effect.sync(() => mutation.tools?.(made, world) ?? made)],
    deliveries: [notes(world, process)]
  }).pipe(
    Layer.provide(
      Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer), EphemeralMemoryStore.layer)
    ),
    Layer.provide(onRows(StoredAuthorizationRecords.layer)),
    Layer.provide(onRows(StoredToolStops.layer)),
    Layer.provide(
      EphemeralSubjectErasure.layer.pipe(
        Layer.provideMerge(EphemeralBlobStore.layer),
        Layer.provide(EphemeralStore.layer)
      )
    ),
    Layer.provide(Layer.succeed(ModelGateway, mutation.model?.(gateway, world) ?? gateway)),
    Layer.provideMerge(stores),
    Layer.provide(settings)
  )
}

export class Generation {
  readonly process: Process
  readonly #world: World
  readonly #scope = Scope.makeUnsafe()
  readonly #boot: Fiber.Fiber<Context.Context<Services>, unknown>
  services: Context.Context<Services> | undefined
  isStopping = false
  /** Calls from outside that run in it: they are nobody's but the caller's. */
  pending = 0

  constructor(world: World, name: string, mutation: Mutation, policy_version: string) {
    this.#world = world
    this.process = new Process(world.kernel, name, rng(Math.floor(world.ids() * 2 ** 32)))
    this.#boot = this.process.fork(
      Layer.buildWithScope(runtime(world, this.process, mutation, policy_version), this.#scope)
    )
    this.#boot.addObserver((exit) => {
      if (Exit.isSuccess(exit)) this.services = exit.value
      else {
        // A store that was away at the start ends the process; its supervisor starts another.
        world.count("a start that failed")
        world.kill(this.process)
      }
    })
  }

  get isUp(): boolean {
    return this.process.alive && this.services !== undefined && !this.isStopping
  }

  /** Runs an effect inside; undefined if the process died, or did not answer in time. */
  call<A, E>(effect: Effect.Effect<A, E, Services>): Effect.Effect<Exit.Exit<A, E> | undefined> {
    const { process, services } = this
    if (services === undefined || !process.alive) return Effect.succeed(undefined)
    return Effect.callback<Exit.Exit<A, E>>((resume) => {
      this.#world.kernel.schedule(process, () => {
        this.pending++
        const fiber = process.fork(Effect.provideContext(effect, services))
        fiber.addObserver((exit) => {
          this.pending--
          this.#world.kernel.schedule(this.#world.outside, () => resume(Effect.succeed(exit)))
        })
      })
    }).pipe(Effect.timeoutOrElse({ duration: 15_000, orElse: () => Effect.succeed(undefined) }))
  }

  /** Closes the scope, as SIGTERM does. True when it closed before the process died. */
  stop(): Effect.Effect<boolean> {
    if (!this.process.alive) return Effect.succeed(false)
    this.isStopping = true
    return Effect.callback<boolean>((resume) => {
      this.#world.kernel.schedule(this.process, () => {
        const fiber = this.process.fork(
          Effect.andThen(Scope.close(this.#scope, Exit.void), Effect.void)
        )
        fiber.addObserver(() =>
          this.#world.kernel.schedule(this.#world.outside, () => resume(Effect.succeed(true)))
        )
      })
    }).pipe(Effect.timeoutOrElse({ duration: 60_000, orElse: () => Effect.succeed(false) }))
  }
}
