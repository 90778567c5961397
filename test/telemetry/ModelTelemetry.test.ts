/**
 * Spans of model turns: one for each turn, in the run's own trace, by the conventions' names, and none when nobody listens.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Tracer } from "effect"
import { TestClock } from "effect/testing"
import * as ResilientModelGateway from "../../layers/model/plan/ResilientModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as ModelTelemetry from "../../layers/telemetry/ModelTelemetry.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { request } from "../model/Gateway.ts"
import { fails, inTurn, model, says } from "../model/Plans.ts"
import * as H from "../runtime/Harness.ts"

const listening = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  return { spans, layer: Layer.succeed(Tracer.Tracer, tracer) }
}

const usage = { input_tokens: 12, output_tokens: 3, cached_tokens: 5, reasoning_tokens: 1 }

describe("ModelTelemetry", () => {
  it.live("gives each turn a span of the run's trace, with model, tokens and finish", () => {
    const { layer, spans } = listening()
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello there"))
      const accepted = all.find((event) => event._tag === "RunAccepted")
      const chats = spans.filter(({ name }) => name === "chat small")
      assert.lengthOf(chats, 2)
      const [first, second] = chats
      assert.strictEqual(first!.traceId, accepted?.trace_id)
      assert.strictEqual(first!.kind, "client")
      assert.deepInclude(Object.fromEntries(first!.attributes), {
        "gen_ai.operation.name": "chat",
        "gen_ai.agent.name": "tester",
        "gen_ai.request.model": "small",
        "gen_ai.response.model": "small-1",
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.usage.cache_read.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 1
      })
      assert.deepInclude(Object.fromEntries(second!.attributes), {
        "gen_ai.response.finish_reasons": ["stop"],
        "troupe.step": 2
      })
      // The tools' spans are of the same trace.
      const tool = spans.find(({ name }) => name === "execute_tool add")
      assert.strictEqual(tool?.traceId, first!.traceId)
      for (const span of chats) {
        const said = JSON.stringify([...span.attributes])
        for (const secret of ["hello there", "Test.", "it is two"]) assert.notInclude(said, secret)
      }
    }).pipe(
      Effect.provide(
        H.layer({
          agent: { model: "small" },
          tools: { add: H.reads((n) => Effect.succeed(n + 1)) },
          script: [call("add", { n: 1 }, { usage, model: "small-1" }), text("it is two")]
        }).pipe(Layer.provideMerge(layer))
      )
    )
  })

  it.live("hands the gateway through untouched when nobody listens", () =>
    Effect.gen(function* () {
      const gateway = ModelGateway.of({ turn: () => Exit.succeed(text("a")) })
      const over = yield* Effect.provide(
        ModelGateway,
        Layer.provide(ModelTelemetry.layer, Layer.succeed(ModelGateway, gateway))
      )
      assert.strictEqual(over, gateway)
    })
  )

  it.effect("tells attempts, models and the provider of one turn in its one span", () => {
    const { layer, spans } = listening()
    const plan = {
      models: [model("main", fails()), model("spare", inTurn(fails(), says("spare")), "other")],
      retry: { attempts_max: 2 }
    }
    return Effect.gen(function* () {
      const turn = yield* Effect.forkChild(
        ModelGateway.use((gateway) => gateway.turn(request({ model: "main" }), () => {}))
      )
      yield* TestClock.adjust(60_000)
      yield* Fiber.join(turn)
      assert.lengthOf(spans, 1)
      const [span] = spans
      assert.deepInclude(Object.fromEntries(span!.attributes), {
        "gen_ai.request.model": "main",
        "gen_ai.response.model": "spare-1",
        "gen_ai.provider.name": "other",
        "troupe.model.name": "spare",
        "troupe.model.attempts": 4
      })
      assert.deepStrictEqual(
        span!.events.map(([name, , attributes]) => [
          name,
          attributes?.["troupe.model.name"],
          attributes?.["troupe.model.attempt"],
          attributes?.["error.type"]
        ]),
        [
          ["troupe.model.attempt_failed", "main", 1, "transient"],
          ["troupe.model.attempt_failed", "main", 2, "transient"],
          ["troupe.model.attempt_failed", "spare", 3, "transient"]
        ]
      )
    }).pipe(
      Effect.provide(
        ModelTelemetry.layer.pipe(
          Layer.provide(ResilientModelGateway.layer(Effect.succeed(plan))),
          Layer.provideMerge(layer)
        )
      )
    )
  })

  it.effect("says why a turn failed, and that it was interrupted", () => {
    const { layer, spans } = listening()
    const main = model(
      "main",
      inTurn(fails("refused"), () => Effect.never)
    )
    return Effect.gen(function* () {
      const gateway = yield* ModelGateway
      yield* Effect.flip(gateway.turn(request(), () => {}))
      const fiber = yield* Effect.forkChild(
        gateway.turn(request(), () => {}),
        {
          startImmediately: true
        }
      )
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(
        spans.map((span) => [span.name, span.attributes.get("error.type"), span.status._tag]),
        [
          ["chat", "refused", "Ended"],
          ["chat", "interrupted", "Ended"]
        ]
      )
    }).pipe(
      Effect.provide(
        ModelTelemetry.layer.pipe(
          Layer.provide(ResilientModelGateway.layer(Effect.succeed({ models: [main] }))),
          Layer.provideMerge(layer)
        )
      )
    )
  })
})
