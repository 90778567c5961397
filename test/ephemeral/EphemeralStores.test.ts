import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import * as Samples from "../contracts/Samples.ts"
import { storesContract } from "../contracts/Stores.contract.ts"

storesContract("ephemeral", Layer.provideMerge(SemStreams.layer, EphemeralStores.layer), {
  rolls_back: false
})

it.effect("each build has a store of its own", () =>
  Effect.gen(function* () {
    const task = Samples.newTask()
    const accept = Effect.flatMap(TaskStore, (tasks) => tasks.accept(task))
    const build = <A, E>(effect: Effect.Effect<A, E, TaskStore>) =>
      Effect.provide(effect, Layer.fresh(EphemeralStores.layer))
    assert.isTrue((yield* build(accept)).created)
    assert.isTrue((yield* build(accept)).created)
  })
)
