/**
 * The gateway over a real effect/ai LanguageModel: its prompts, its turns and its errors.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer, Stream } from "effect"
import { AiError } from "effect/ai"
import type { Tool } from "effect/ai"
import { TestClock } from "effect/testing"
import * as LanguageModelGateway from "../../layers/model/providers/LanguageModelGateway.ts"
import { AnswerHeard } from "../../layers/model/wire/RateLimitHeaders.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import type { ModelDelta, ModelError, ModelRequest } from "../../services/ModelGateway.ts"
import { CallId } from "../../src/value/Ids.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { request } from "./Gateway.ts"
import { by, call, finish, languageModel, say, think, usage } from "./ScriptedLanguageModel.ts"
import type { Answer } from "./ScriptedLanguageModel.ts"

const search = {
  name: "search",
  description: "Finds things.",
  input_schema: { type: "object", properties: { q: { type: "string" } }, required: ["q"] }
}

const ask = (
  answer: Answer,
  over: Partial<ModelRequest> = {},
  options: Partial<LanguageModelGateway.LanguageModelOptions> = {}
) =>
  Effect.gen(function* () {
    const { asked, layer } = languageModel(answer)
    const deltas: Array<ModelDelta> = []
    const turn: Turn = yield* ModelGateway.use((gateway) =>
      gateway.turn(request(over), (delta) => deltas.push(delta))
    ).pipe(Effect.provide(Layer.provide(LanguageModelGateway.layer(options), layer)))
    return { turn, deltas, asked: asked[0]! }
  })

describe("LanguageModelGateway", () => {
  it.effect("returns text, reasoning, calls, usage and the model's name as one turn", () =>
    Effect.gen(function* () {
      const { deltas, turn } = yield* ask(
        [
          ...by("scripted-1"),
          ...think("r", "hm", { acme: { signature: "s-1" } }),
          ...say("t", ["Let me ", "look."]),
          ...call("c-1", "search", { q: "a" }),
          ...call("c-2", "search", { q: "b" }),
          finish("tool-calls", usage(12, 7, { cached: 4, reasoning: 3 }))
        ],
        { tools: [search] },
        { origin: "acme:scripted" }
      )
      assert.deepStrictEqual(turn, {
        text: "Let me look.",
        calls: [
          { model_id: "c-1", name: "search", arguments: { q: "a" } },
          { model_id: "c-2", name: "search", arguments: { q: "b" } }
        ],
        finish: "tool_calls",
        reasoning: [{ text: "hm", provider: { acme: { signature: "s-1" } } }],
        origin: "acme:scripted",
        usage: { input_tokens: 12, output_tokens: 7, cached_tokens: 4, reasoning_tokens: 3 },
        model: "scripted-1"
      })
      assert.deepStrictEqual(deltas, [
        { kind: "reasoning", text: "hm", offset: 0 },
        { kind: "text", text: "Let me ", offset: 0 },
        { kind: "text", text: "look.", offset: 7 }
      ])
    })
  )

  it.effect("returns a call that was cut without arguments", () =>
    Effect.gen(function* () {
      for (const parts of [
        call("c", "search", {}).filter((part) => part.type !== "tool-params-delta"),
        [{ type: "tool-params-start", id: "c", name: "search", providerExecuted: false } as const]
      ]) {
        const { turn } = yield* ask([...parts, finish("length")], { tools: [search] })
        assert.deepStrictEqual(turn.calls, [
          { model_id: "c", name: "search", arguments: null, malformed: "" }
        ])
      }
    })
  )

  it.effect("continues a paused turn, and returns the tools that the provider ran", () =>
    Effect.gen(function* () {
      const model = languageModel(
        [
          ...say("t", ["Let me look. "]),
          { type: "source", sourceType: "url", id: "u", url: "https://example.org/a", title: "A" },
          {
            type: "tool-call",
            id: "s",
            name: "search",
            params: { q: "a" },
            providerExecuted: true
          },
          {
            type: "tool-result",
            id: "s",
            name: "search",
            result: { hits: 1 },
            isFailure: false,
            providerExecuted: true
          },
          finish("pause")
        ],
        [...say("t", ["Found."]), finish("stop")]
      )
      const turn = yield* ModelGateway.use((gateway) =>
        gateway.turn(request({ tools: [search] }), () => {})
      ).pipe(Effect.provide(Layer.provide(LanguageModelGateway.layer(), model.layer)))
      assert.deepStrictEqual([turn.text, turn.finish], ["Let me look. Found.", "stop"])
      assert.deepStrictEqual(turn.ran, [
        {
          id: "s",
          name: "search",
          arguments: '{"q":"a"}',
          arguments_units: 9,
          result: '{"hits":1}',
          result_units: 10
        }
      ])
      assert.deepStrictEqual(turn.sources, [{ url: "https://example.org/a", title: "A" }])
      assert.strictEqual(model.asked.length, 2)
      const last = model.asked[1]?.prompt.content.at(-1)
      assert.strictEqual(last?.role, "assistant")
      assert.deepStrictEqual(
        typeof last?.content === "string" ? [] : last?.content.map(({ type }) => type),
        ["text", "tool-call", "tool-result"]
      )
    })
  )

  it.effect("sends back reasoning with its signature, calls and results, and the tools", () =>
    Effect.gen(function* () {
      const { asked } = yield* ask([...say("t", ["ok"]), finish("stop")], {
        tools: [search],
        transcript: [
          { role: "user", text: "find a" },
          {
            role: "assistant",
            text: "",
            calls: [
              { model_id: "c-1", name: "search", arguments: { q: "a" } },
              { model_id: "c-1", name: "search", arguments: { q: "b" } }
            ],
            reasoning: [{ text: "hm", provider: { acme: { signature: "s-1" } } }]
          },
          {
            role: "tool",
            call: CallId.make("0/1.0"),
            model_id: "c-1",
            name: "search",
            outcome: { _tag: "Value", json: '["x"]' }
          },
          {
            role: "tool",
            call: CallId.make("0/1.1"),
            model_id: "c-1",
            name: "search",
            outcome: { _tag: "Denied", by: "boss", reason: "no" }
          }
        ]
      })
      const [system, user, assistant, tool] = asked.prompt.content
      assert.lengthOf(asked.prompt.content, 4)
      assert.deepInclude(system, { role: "system", content: "You are terse." })
      assert.strictEqual(user?.role, "user")
      assert(assistant?.role === "assistant" && tool?.role === "tool")
      const [reasoning, first, second] = assistant.content
      assert.deepInclude(reasoning, {
        type: "reasoning",
        text: "hm",
        options: { acme: { signature: "s-1" } }
      })
      assert.deepInclude(first, { type: "tool-call", id: "c-1", params: { q: "a" } })
      assert.deepInclude(second, { type: "tool-call", id: "c-1_2", params: { q: "b" } })
      assert.deepInclude(tool.content[0], {
        type: "tool-result",
        id: "c-1",
        result: '["x"]',
        isFailure: false
      })
      assert.deepInclude(tool.content[1], { id: "c-1_2", isFailure: true })
      assert.deepStrictEqual(
        asked.tools.map((tool: Tool.Any) => [tool.name, tool.description]),
        [["search", "Finds things."]]
      )
      assert.strictEqual(asked.toolCallValidation, "deferred")
    })
  )

  it.effect("passes unknown tools and arguments that are no JSON to the loop", () =>
    Effect.gen(function* () {
      const { turn } = yield* ask(
        [
          ...call("c-1", "serach", { q: 1 }),
          ...call("c-2", "search", { wrong: true }),
          {
            type: "tool-call",
            id: "c-3",
            name: "search",
            params: '{"q": ',
            providerExecuted: false
          },
          finish("tool-calls")
        ],
        { tools: [search] }
      )
      assert.deepStrictEqual(turn.calls, [
        { model_id: "c-1", name: "serach", arguments: { q: 1 } },
        { model_id: "c-2", name: "search", arguments: { wrong: true } },
        { model_id: "c-3", name: "search", arguments: null, malformed: '{"q": ' }
      ])
    })
  )

  it.effect("maps each finish reason, and treats an answer without one as cut", () =>
    Effect.gen(function* () {
      for (const [reason, expected] of [
        ["stop", "stop"],
        ["length", "length"],
        ["content-filter", "content_filter"],
        ["other", "other"],
        ["pause", "other"],
        ["unknown", "other"]
      ] as const) {
        const { turn } = yield* ask([...say("t", ["a"]), finish(reason)])
        assert.strictEqual(turn.finish, expected, reason)
      }
      for (const cut of [[...say("t", ["a"])], [...say("t", ["a"]), finish("error")], []]) {
        const failure = yield* Effect.flip(ask(cut))
        assert.strictEqual(failure.kind, "transient")
      }
    })
  )

  it.effect("classifies the errors of a LanguageModel, and shows no key", () =>
    Effect.gen(function* () {
      const reasons: ReadonlyArray<
        readonly [reason: AiError.AiErrorReason, kind: ModelError["kind"], retry?: number]
      > = [
        [
          new AiError.AuthenticationError({ kind: "InvalidKey", description: "sk-123" }),
          "configuration"
        ],
        [new AiError.RateLimitError({ retryAfter: Duration.seconds(3) }), "transient", 3_000],
        [new AiError.InternalProviderError({ description: "oops" }), "transient"],
        [new AiError.QuotaExhaustedError({}), "refused"],
        [new AiError.InvalidRequestError({ description: "too long, sk-abcdefgh123" }), "refused"],
        [new AiError.ContentPolicyError({ description: "no" }), "refused"],
        [new AiError.InvalidOutputError({ description: "not JSON" }), "transient"]
      ]
      for (const [reason, kind, retry] of reasons) {
        const error = AiError.make({ module: "Acme", method: "streamText", reason })
        const failure = yield* Effect.flip(ask(Stream.fail(error)))
        assert.deepStrictEqual([failure.kind, failure.retry_after_ms], [kind, retry], reason._tag)
        assert.notInclude(failure.message, "sk-")
      }
      const event = yield* Effect.flip(
        ask([...say("t", ["a"]), { type: "error", error: { code: "overloaded_error" } }])
      )
      assert.strictEqual(event.kind, "transient")
    })
  )

  it.effect("passes the rate headers of a refused answer to its limiter", () =>
    Effect.gen(function* () {
      const headers = { "x-ratelimit-remaining-requests": "0" }
      const reason = new AiError.RateLimitError({ http: { response: { status: 429, headers } } })
      const heard: Array<unknown> = []
      const error = AiError.make({ module: "Acme", method: "streamText", reason })
      yield* Effect.flip(ask(Stream.fail(error))).pipe(
        Effect.provideService(AnswerHeard, (said) => heard.push(said))
      )
      assert.deepStrictEqual(heard, [headers])
    })
  )

  it.effect("refuses a setting that effect/ai has no option for, and names it", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(ask([finish("stop")], { settings: { temperature: 0 } }))
      assert.strictEqual(failure.kind, "configuration")
      assert.include(failure.message, "model_settings.temperature of agent operations")
      const { asked } = yield* ask([...call("c", "search", {}), finish("tool-calls")], {
        tools: [search],
        settings: { tool_choice: "required_first" }
      })
      assert.strictEqual(asked.toolChoice, "required")
    })
  )

  it.effect("abandons a silent stream and one that never ends, and closes its scope", () =>
    Effect.gen(function* () {
      for (const [options, part] of [
        [{ idle_ms: 1_000, timeout_ms: 60_000 }, "silent for 1000 ms"],
        [{ idle_ms: 60_000, timeout_ms: 1_000 }, "within 1000 ms"]
      ] as const) {
        const closed = yield* Deferred.make<void>()
        const answer = Stream.fromIterable(say("t", ["a"])).pipe(
          Stream.concat(Stream.never),
          Stream.ensuring(Deferred.succeed(closed, undefined))
        )
        const fiber = yield* Effect.forkChild(Effect.flip(ask(answer, {}, options)))
        for (let n = 0; n < 10; n++) yield* TestClock.adjust(500)
        const failure = yield* Fiber.join(fiber)
        assert.strictEqual(failure.kind, "transient")
        assert.include(failure.message, part)
        assert.isTrue(yield* Deferred.isDone(closed))
      }
    })
  )

  it.effect("aborts the stream when it is interrupted", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const closed = yield* Deferred.make<void>()
      const answer = Stream.fromEffect(Deferred.succeed(begun, undefined)).pipe(
        Stream.drain,
        Stream.concat(Stream.never),
        Stream.ensuring(Deferred.succeed(closed, undefined))
      )
      const fiber = yield* Effect.forkChild(ask(answer))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(yield* Deferred.isDone(closed))
    })
  )
})
