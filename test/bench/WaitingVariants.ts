/**
 * Runs that wait for a person, and what the runtime keeps of each: the heap with the runtime and without it, over a store
 * that stays. What the store has of a run is its own and is not counted.
 */
import { Effect, Exit, Layer, Schema, Scope } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { ToolError } from "../../src/error/ToolError.ts"
import { ConversationId, RunId } from "../../src/value/Ids.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import { EphemeralStore } from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as RuntimeConfig from "../../layers/runtime/actor/RuntimeConfig.ts"
import { agentName, model, tenant } from "./Rig.ts"
import { askAll, startChanger } from "./AnswersVariants.ts"
import { newDatabase } from "./NewDatabase.ts"
import type { Sample } from "./Row.ts"
import { sized } from "./Work.ts"

const Change = Tool.make("change", {
  description: "Changes one record.",
  parameters: Schema.Struct({ id: Schema.Int }),
  success: Schema.Boolean,
  failure: ToolError
})

const tools = govern(
  Toolkit.make(Change),
  { change: { namespace: "bench", side_effects: "write" } },
  { change: () => Effect.succeed(true) }
)

export const agent = AgentSpec.make({
  name: agentName,
  instructions: "",
  tools: ["bench.change@1"]
})

const config: RuntimeConfig.RuntimeConfig = {
  ...RuntimeConfig.defaults,
  idle_ms: 1,
  sweep_ms: 20,
  recover_max: 1_000
}

/** Over any stores, with a model that asks for a change at once. */
export const runtime = (park_ms: number) =>
  Runtime.layer({ agents: [agent], tools: [tools] }).pipe(
    Layer.provide(model(() => ScriptedModelGateway.call("change", { id: 1 }))),
    Layer.provide(Layer.succeed(RuntimeConfig.RuntimeConfig, { ...config, park_ms }))
  )

const uuid = (n: number) =>
  RunId.make(`00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`)

const create = Effect.fnUntraced(function* (runs: number) {
  const journal = yield* RunJournal
  for (let n = 0; n < runs; n++) {
    const key = ConversationId.make(`c-${n}`)
    yield* journal.create(uuid(n), 1, {
      _tag: "RunAccepted",
      tenant,
      address: { agent: agentName, key },
      conversation: key,
      message: "change it",
      by: "bench",
      trace_id: "0af7651916cd43dd8448eb211c80319c",
      limits: agent.limits,
      pins: { definition: "", tools: "" }
    })
  }
})

/** Bytes of the heap that something still refers to: an ordinary collection leaves some garbage, another amount each time. */
const heap = Effect.promise(async () => {
  for (let n = 0; n < 4; n++) {
    globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" })
    // Finalizers and weak references are done with between turns of the event loop.
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return process.memoryUsage().heapUsed
})

/** How long after the last question the heap is measured: nobody has answered, and nobody is about to. */
const waits_ms = sized(10, 2_000)

/** Of a whole process: the runtime as an application starts it, and what its store keeps of a run in this process. */
export const asked = async (on: string, runs = "1000"): Promise<Sample> => {
  const store = on === "ephemeral" ? on : await newDatabase(on)
  const troupe = await startChanger(store)
  const heapAfter = async (count: number) => {
    await askAll(troupe, count)
    await new Promise((resolve) => setTimeout(resolve, waits_ms))
    return Effect.runPromise(heap)
  }
  // What the first runs bring, such as compiled code, is not theirs.
  const before = await heapAfter(sized(20, 1_000))
  return { bytes: ((await heapAfter(Number(runs))) - before) / Number(runs) }
}

const kept = Effect.fnUntraced(function* (runs: number, park_ms: number) {
  yield* create(runs)
  const { pending } = yield* EphemeralStore
  const process = yield* Scope.make()
  yield* Effect.gen(function* () {
    const context = yield* Layer.buildWithMemoMap(
      runtime(park_ms).pipe(Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer))),
      Layer.makeMemoMapUnsafe(),
      process
    )
    // Busy actors come first: when the first is parked, all are. Those that stay in the process show as running.
    const settled = AgentRuntime.use((agents) => agents.actors(1)).pipe(
      Effect.map(
        ([first]) => pending.size === runs && (park_ms > 1_000 || first?.state === "parked")
      ),
      Effect.provideContext(context)
    )
    while (!(yield* settled)) yield* Effect.sleep(50)
  })
  const before = yield* heap
  yield* Scope.close(process, Exit.void)
  return { bytes: (before - (yield* heap)) / runs }
})

const measured = (runs: number, park_ms: number): Promise<Sample> =>
  Effect.runPromise(kept(runs, park_ms).pipe(Effect.provide(EphemeralStores.layer)))

export const parked = (runs = "100000"): Promise<Sample> => measured(Number(runs), 0)
export const resident = (runs = "2000"): Promise<Sample> => measured(Number(runs), 3_600_000)
