/**
 * How the live gateway waits between attempts, with a provider of the test's own and a clock of the test.
 */
import { APICallError } from "@ai-sdk/provider"
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as AiSdkModelGateway from "../../layers/model/providers/AiSdkModelGateway.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { request } from "./Gateway.ts"

const count = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }

const answer: ReadonlyArray<LanguageModelV4StreamPart> = [
  { type: "text-delta", id: "t", delta: "at last" },
  {
    type: "finish",
    finishReason: { unified: "stop", raw: "stop" },
    usage: { inputTokens: count, outputTokens: { total: 1, text: 1, reasoning: 0 } }
  }
]

/** A provider that fails the first attempts, each with a time to wait; `at` are the times of all attempts. */
const busy = (clock: Clock.Clock, attempts: number, headers: Record<string, string>) => {
  const at: Array<number> = []
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "test",
    modelId: "test-model",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("not asked")),
    doStream: () => {
      at.push(clock.currentTimeMillisUnsafe())
      if (at.length > attempts) {
        const stream = new ReadableStream<LanguageModelV4StreamPart>({
          start(controller) {
            for (const part of answer) controller.enqueue(part)
            controller.close()
          }
        })
        return Promise.resolve({ stream })
      }
      return Promise.reject(
        new APICallError({
          message: "busy",
          url: "",
          requestBodyValues: {},
          statusCode: 429,
          responseHeaders: headers
        })
      )
    }
  }
  return { at, model }
}

/** Advances the clock until the turn is over; the gaps between attempts, in ms. */
const gaps = (attempts: number, headers: Record<string, string>) =>
  Effect.gen(function* () {
    const { at, model } = busy(yield* Clock.Clock, attempts, headers)
    const provider = { model: () => model, model_default: "test-model", secrets: [], keyed: false }
    const fiber = yield* Effect.forkChild(
      ModelGateway.use((gateway) => gateway.turn(request(), () => {})).pipe(
        Effect.provide(AiSdkModelGateway.layer(provider))
      ),
      { startImmediately: true }
    )
    while (fiber.pollUnsafe() === undefined) {
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* TestClock.adjust(50)
    }
    const turn = yield* Fiber.join(fiber)
    assert.strictEqual(turn.text, "at last")
    return at.slice(1).map((time, index) => time - at[index]!)
  })

describe("AiSdkModelGateway: waits between attempts", () => {
  it.effect("double from half a second, each jittered down to its half at most", () =>
    Effect.gen(function* () {
      const [first, second] = yield* gaps(2, {})
      assert.isAtLeast(first!, 250)
      assert.isAtLeast(second!, 500)
    })
  )

  it.effect("are as long as the provider's answer says", () =>
    Effect.gen(function* () {
      const [first] = yield* gaps(1, { "retry-after": "7" })
      assert.isAtLeast(first!, 7_000)
    })
  )

  it.effect("last until the time at which the headers allow a request again", () =>
    Effect.gen(function* () {
      const [first] = yield* gaps(1, {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "12s"
      })
      assert.isAtLeast(first!, 12_000)
      assert.isBelow(first!, 13_000)
    })
  )

  it.effect(
    "end the turn where the provider's answer says more than 30 s, with the time to wait",
    () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(gaps(1, { "retry-after": "3600" }))
        assert.deepInclude(failure, { kind: "transient", retry_after_ms: 3_600_000 })
      })
  )
})
