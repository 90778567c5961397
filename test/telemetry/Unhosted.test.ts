import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as UnhostedTelemetry from "../../layers/telemetry/UnhostedTelemetry.ts"
import type { ResolvedAgent } from "../../services/AgentDirectory.ts"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { toolOf } from "../../src/run/Needs.ts"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"

/** An agent without a tool. */
const hosting = (name: AgentName): ResolvedAgent => ({
  spec: AgentSpec.make({ name, instructions: "" }),
  tools: new Map(),
  specialists: new Map(),
  modelTools: [],
  pins: { definition: "d", tools: "t" }
})

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

it.effect("a warning names the version or the tool that work waits for, where that is all", () => {
  const warned: Array<unknown> = []
  const log = Logger.layer([
    Logger.make(({ logLevel, message }) => {
      if (logLevel === "Warn") warned.push(message)
    })
  ])
  return Effect.gen(function* () {
    const { fence, run, task } = yield* Samples.begin()
    const { agent } = task.address
    const needs = [toolOf(agent, "shop.refund@1")]
    yield* RunOwnership.use((ownership) => ownership.handOver(run, fence.epoch, needs))
    yield* TestClock.adjust("20 seconds")
    const text = "work waits for an agent that no living process hosts"
    assert.deepStrictEqual(warned, [[text, { agent, count: 1, only: ["shop.refund@1"] }]])
  }).pipe(
    Effect.provide(
      UnhostedTelemetry.layer.pipe(
        Layer.provide(
          Layer.succeed(AgentDirectory, {
            get: () => undefined,
            all: [hosting(Samples.operations)]
          })
        ),
        Layer.provideMerge(EphemeralStores.layer),
        Layer.provideMerge(log)
      )
    )
  )
})
