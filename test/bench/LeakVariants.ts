/**
 * What is left of many runs, and of many steps, when they are over: fibers, maps, timers, listeners and heap, counted
 * before and after. What the store keeps of an ended run is its own, and is thrown away before each count.
 */
import { queryObjects } from "node:v8"
import { Effect, Layer, Scope } from "effect"
import { ConversationId } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import { EphemeralStore } from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as RuntimeConfig from "../../layers/runtime/actor/RuntimeConfig.ts"
import { agent, agentName, model, tenant, tools } from "./Rig.ts"
import type { Sample } from "./Row.ts"
import { turnAt } from "./Work.ts"

const by = new Principal({ id: "bench", tenant, roles: ["operator"] })

interface Count {
  readonly fibers: number
  readonly maps: number
  /** Timers, sockets and whatever else keeps a process alive. */
  readonly resources: number
  readonly listeners: number
  readonly heap: number
}

const countOf = (constructor: unknown): number =>
  queryObjects(constructor as never, { format: "count" }) as unknown as number

const FiberImpl = Effect.runFork(Effect.void).constructor

const count = Effect.promise(async (): Promise<Count> => {
  for (let n = 0; n < 4; n++) {
    globalThis.gc?.()
    // Finalizers and weak references are done with between turns of the event loop.
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    fibers: countOf(FiberImpl),
    maps: countOf(Map) + countOf(Set),
    resources: process.getActiveResourcesInfo().length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    heap: process.memoryUsage().heapUsed
  }
})

/** Everything that the store still says is going on. */
const left = (store: EphemeralStore["Service"]): number =>
  store.open.size +
  store.openOf.size +
  store.waiting.all.size +
  store.pending.size +
  store.messages.size +
  store.keys.size

/** Forgets what has ended, and keeps the conversation's count of its tasks. */
const forget = (store: EphemeralStore["Service"]) => {
  store.runs.clear()
  store.tasks.clear()
  store.accepted.clear()
  store.approvals.clear()
  store.dead.clear()
  store.byLastEnd.clear()
  store.ended = 0
  for (const each of store.conversations.values()) each.messages.length = 0
}

const forgetAll = (store: EphemeralStore["Service"]) => {
  forget(store)
  store.conversations.clear()
  store.conversationsOf.clear()
}

const runtime = (steps: number) =>
  Runtime.layer({ agents: [agent], tools: [tools] }).pipe(
    Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
    Layer.provide(model((request) => turnAt(request.step, steps))),
    Layer.provide(
      Layer.succeed(RuntimeConfig.RuntimeConfig, { ...RuntimeConfig.defaults, idle_ms: 1 })
    ),
    Layer.provideMerge(EphemeralStores.layer)
  )

const send = (conversation: string) =>
  AgentRuntime.use((agents) =>
    agents.send(
      { agent: agentName, conversation: ConversationId.make(conversation), text: "read" },
      by
    )
  )

/** Until nothing is going on and every actor has left. */
const quiet = Effect.gen(function* () {
  const store = yield* EphemeralStore
  const agents = yield* AgentRuntime
  while (left(store) > 0 || (yield* agents.actors(1)).length > 0) yield* Effect.sleep(2)
})

const differences = (before: Count, after: Count, done: number): Sample => ({
  fibers: after.fibers - before.fibers,
  maps: after.maps - before.maps,
  resources: after.resources - before.resources,
  listeners: after.listeners - before.listeners,
  heap_bytes: (after.heap - before.heap) / done
})

const measured = (
  steps: number,
  batches: number,
  batch: (n: number) => Effect.Effect<void, unknown, AgentRuntime>,
  each: number,
  forgets: typeof forget
) =>
  Effect.gen(function* () {
    const store = yield* EphemeralStore
    const one = (n: number) =>
      Effect.andThen(
        Effect.andThen(batch(n), quiet),
        Effect.sync(() => forgets(store))
      )
    // The first batches are for the compilers and for what is made once.
    for (let n = 0; n < 3; n++) yield* one(n)
    // So is the first count, which opens what the heap is counted with.
    yield* count
    const before = yield* count
    for (let n = 0; n < batches; n++) yield* one(n + 3)
    return differences(before, yield* count, batches * each)
  }).pipe(
    Effect.provide(runtime(steps)),
    Effect.provideService(Scope.Scope, Scope.makeUnsafe()),
    Effect.runPromise
  )

const runs_per_batch = 1_000

/** Runs of one step, each in a conversation of its own. */
export const runs = (total = "100000"): Promise<Sample> =>
  measured(
    1,
    Math.ceil(Number(total) / runs_per_batch),
    (batch) =>
      Effect.forEach(Array.from({ length: runs_per_batch }), (_, n) => send(`c-${batch}-${n}`), {
        discard: true
      }),
    runs_per_batch,
    forgetAll
  )

/** A run may have 1,000 turns, the last of which answers. */
const steps_per_run = 999

/** Steps of one conversation, in runs as long as a run may be. */
export const steps = (total = "10000"): Promise<Sample> =>
  measured(
    steps_per_run,
    Math.ceil(Number(total) / steps_per_run),
    () => Effect.asVoid(send("c")),
    steps_per_run,
    forget
  )
