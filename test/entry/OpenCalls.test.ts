/** A stop waits for calls that are not over, and not for ever. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer, OpenCalls, unlessEnding } from "../../layers/compose/promises/OpenCalls.ts"
import { call, layer as scripted } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const opened = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const calls = Context.get(yield* Layer.buildWithScope(layer, scope), OpenCalls)
  // Not a child of the test, which would wait for it when it fails.
  const stopped = Effect.forkDetach(Scope.close(scope, Exit.void), { startImmediately: true })
  return { calls, stopped }
})

/** The stop of a service, almost 10 s after it began, with one call that is not over. */
const waiting = Effect.gen(function* () {
  const { calls, stopped } = yield* opened
  calls.begin()
  const stop = yield* stopped
  yield* TestClock.adjust(9_999)
  assert.isUndefined(stop.pollUnsafe())
  return { calls, stop }
})

describe("the stop of a service with a call that is not over", () => {
  it.effect("ends when the call is over", () =>
    Effect.gen(function* () {
      const { calls, stop } = yield* waiting
      calls.finish()
      yield* Effect.yieldNow
      assert.isDefined(stop.pollUnsafe())
    })
  )

  it.effect("ends after 10 s where the call never does", () =>
    Effect.gen(function* () {
      const { stop } = yield* waiting
      yield* TestClock.adjust(1)
      assert.isDefined(stop.pollUnsafe())
    })
  )

  it.effect("waits for nothing where none is open, and refuses what begins later", () =>
    Effect.gen(function* () {
      const { calls, stopped } = yield* opened
      calls.begin()
      calls.finish()
      assert.isDefined((yield* stopped).pollUnsafe())
      const refused = yield* Effect.flip(unlessEnding(calls, Effect.void))
      assert.strictEqual(refused._tag, "ShuttingDown")
    })
  )
})

it("a stop waits for a tool as long as `drain_ms` says, and interrupts it then", async () => {
  const begun = Promise.withResolvers<void>()
  const pay = tool(
    { namespace: "shop", name: "pay", description: "Pays.", side_effects: "read" },
    () => {
      begun.resolve()
      return new Promise<string>(() => {})
    }
  )
  const troupe = await start({
    agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["pay"] })],
    tools: [pay],
    model: scripted([call("pay", {})]),
    drain_ms: "20 millis",
    telemetry: false
  })
  await troupe.send({ agent: "shop", text: "Pay" })
  await begun.promise
  const before = performance.now()
  await troupe.stop()
  const waited = performance.now() - before
  assert.isAbove(waited, 15)
  // By default it is 5 s.
  assert.isBelow(waited, 3_000)
})
