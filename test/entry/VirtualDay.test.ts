/**
 * What a service under a virtual clock does while nothing is due: the wake-ups of its timers are counted, because they are what a
 * virtual day costs.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Duration } from "effect"
import { Clock, Context, Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as VirtualClock from "../../layers/compose/entries/VirtualClock.ts"
import * as StartedLayer from "../../layers/compose/promises/StartedLayer.ts"
import { serviceOf } from "../../layers/compose/promises/StartedService.ts"
import { call, scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const hour_ms = 3_600_000

const realClock = Context.get(Context.empty(), Clock.Clock)

/** Until the event loop has turned: what is ready has run. */
const turnOfLoop = () => new Promise<void>((resolve) => setImmediate(resolve))

/** The virtual clock, with a count of the sleeps that began under it. */
const counting = () => {
  let sleeps = 0
  const layer = Layer.effect(
    Clock.Clock,
    Effect.map(Clock.Clock, (clock) => ({
      ...clock,
      sleep: (duration: Duration.Duration) => {
        sleeps++
        return clock.sleep(duration)
      }
    }))
  ).pipe(Layer.provideMerge(VirtualClock.layer))
  return { layer, sleeps: () => sleeps }
}

const start = async () => {
  const { layer, sleeps } = counting()
  const pay = tool(
    { namespace: "shop", name: "pay", side_effects: "external", approval_expires_ms: "24 hours" },
    () => 1
  )
  const started = StartedLayer.layer({
    agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["pay"] })],
    tools: [pay],
    model: scripted([call("pay"), text("late")]),
    telemetry: false
  }).pipe(Layer.provideMerge(layer))
  const { run, service } = await serviceOf(started)
  const advance = async (ms: number) => {
    const before = sleeps()
    await run(TestClock.adjust(ms))
    return sleeps() - before
  }
  return { advance, service }
}

describe("a virtual clock", () => {
  it("wakes a service less than 700 times in a day, and a question ends at its time", async () => {
    const { advance, service } = await start()
    const { run, status } = await service.ask({ agent: "shop", text: "Pay." })
    assert.strictEqual(status, "awaiting_approval")
    assert.isBelow(await advance(24 * hour_ms - 1), 700)
    assert.strictEqual((await service.result(run)).status, "awaiting_approval")
    await advance(1)
    assert.strictEqual((await service.result(run)).text, "late")
    // A month is about four times as many.
    assert.isBelow(await advance(7 * 24 * hour_ms), 5_000)
    await service.stop()
  })

  it("warns of no wait, however long nobody advances", async () => {
    const warnings: Array<unknown> = []
    const logger = Logger.make(({ message }) => void warnings.push(message))
    // The time outside, after some of which a clock that stands still would warn, passes at once.
    const outside = Object.assign(Object.create(realClock) as Clock.Clock, {
      sleep: () => Effect.yieldNow
    })
    const waits = Effect.gen(function* () {
      yield* Effect.forkChild(Effect.sleep("1 hour"), { startImmediately: true })
      for (let turn = 0; turn < 10; turn++) yield* Effect.promise(() => turnOfLoop())
      yield* TestClock.adjust("1 hour")
    }).pipe(Effect.provide(VirtualClock.layer))
    await Effect.runPromise(
      waits.pipe(
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(Clock.Clock, outside)
      )
    )
    assert.deepStrictEqual(warnings, [])
  })
})
