import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as UnhostedTelemetry from "../../layers/telemetry/UnhostedTelemetry.ts"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { AgentName, ConversationId } from "../../src/Ids.ts"
import * as Samples from "../contracts/Samples.ts"

it.effect(
  "an agent that nobody hosts is counted at once, and warned of once after ten seconds",
  () => {
    const warned: Array<unknown> = []
    const log = Logger.layer([
      Logger.make(({ logLevel, message }) => {
        if (logLevel === "Warn") warned.push(message)
      })
    ])
    return Effect.gen(function* () {
      const agent = AgentName.make("unhosted-by-all")
      const address = { agent, key: ConversationId.make("c") }
      yield* TaskStore.use((tasks) => tasks.accept(Samples.newTask({ address })))
      yield* TestClock.adjust("6 seconds")
      const counts = (yield* Metric.snapshot).filter(
        ({ attributes }) => attributes?.["agent"] === agent
      )
      assert.deepStrictEqual(
        counts.map(({ id, state }) => [id, state]),
        [["troupe_unhosted", { value: 1 }]]
      )
      assert.isEmpty(warned)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(warned.length, 1)
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(warned.length, 1)
    }).pipe(
      Effect.provide(
        UnhostedTelemetry.layer.pipe(
          Layer.provide(Layer.succeed(AgentDirectory, { get: () => undefined, all: [] })),
          Layer.provideMerge(EphemeralStores.layer),
          Layer.provideMerge(log)
        )
      )
    )
  }
)
