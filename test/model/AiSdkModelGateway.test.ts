/**
 * The live gateway against a server on loopback: what comes off the wire, whole or in pieces, becomes one turn.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { CallId } from "../../src/Ids.ts"
import { ask, key } from "./Gateway.ts"
import {
  error,
  finish,
  refuse,
  reset,
  say,
  serve,
  stall,
  status,
  stream,
  think,
  tool,
  usage
} from "./ChatServer.ts"
import type { Answer } from "./ChatServer.ts"

const counts = {
  prompt_tokens: 12,
  completion_tokens: 7,
  prompt_tokens_details: { cached_tokens: 5 },
  completion_tokens_details: { reasoning_tokens: 3 }
}

const hello = [say("Hel"), say("lo, wörld 😀"), finish("stop"), usage(counts)]

const parallel = [
  say("Looking."),
  tool(0, { id: "call_a", name: "list_dlq_events", arguments: "" }),
  tool(0, { arguments: '{"lim' }),
  tool(1, { id: "call_b", name: "get_dlq_event_detail", arguments: '{"event_id":' }),
  tool(0, { arguments: 'it": 5, "note": "ü😀"}' }),
  tool(1, { arguments: '"e-1"}' }),
  finish("tool_calls"),
  usage(counts)
]

/** What one answer to one request becomes. */
const turnOf = (answer: Answer) =>
  Effect.gen(function* () {
    const server = yield* serve([answer])
    return yield* ask(server.base_url)
  }).pipe(Effect.scoped)

const failureOf = (answers: ReadonlyArray<Answer>) =>
  Effect.gen(function* () {
    const server = yield* serve(answers)
    const failure = yield* Effect.flip(ask(server.base_url))
    const { host } = new URL(server.base_url)
    assert.notInclude(failure.message, key)
    assert.notInclude(failure.message, host)
    assert.notInclude(failure.message, "http")
    assert.notInclude(failure.message, " at ")
    assert.isAtMost(failure.message.length, 500)
    return { failure, attempts: server.asked.length }
  }).pipe(Effect.scoped)

describe("AiSdkModelGateway: a turn off the wire", () => {
  it.live(
    "text arrives as deltas whose offsets add up, with usage and the model that answered",
    () =>
      Effect.gen(function* () {
        const { deltas, turn } = yield* turnOf(stream(hello))
        assert.deepStrictEqual(turn, {
          text: "Hello, wörld 😀",
          calls: [],
          finish: "stop",
          usage: { input_tokens: 12, output_tokens: 7, cached_tokens: 5, reasoning_tokens: 3 },
          model: "wire-model-1"
        })
        assert.deepStrictEqual(deltas, [
          { kind: "text", text: "Hel", offset: 0 },
          { kind: "text", text: "lo, wörld 😀", offset: 3 }
        ])
      })
  )

  for (const bytes of [1, 7, 4096]) {
    it.live(`parallel calls are put together from a body cut every ${bytes} bytes`, () =>
      Effect.gen(function* () {
        const { turn } = yield* turnOf(stream(parallel, { bytes }))
        assert.strictEqual(turn.text, "Looking.")
        assert.strictEqual(turn.finish, "tool_calls")
        assert.deepStrictEqual(turn.calls, [
          {
            model_id: "call_a",
            name: "list_dlq_events",
            arguments: { limit: 5, note: "ü😀" }
          },
          { model_id: "call_b", name: "get_dlq_event_detail", arguments: { event_id: "e-1" } }
        ])
      })
    )
  }

  it.live("arguments that are not JSON are kept as text, and none are an empty object", () =>
    Effect.gen(function* () {
      const { turn } = yield* turnOf(
        stream([
          tool(0, { id: "a", name: "x", arguments: '{"limit": ' }),
          tool(1, { id: "b", name: "y", arguments: "" }),
          finish("tool_calls")
        ])
      )
      assert.deepStrictEqual(turn.calls, [
        { model_id: "a", name: "x", arguments: null, malformed: '{"limit": ' },
        { model_id: "b", name: "y", arguments: {} }
      ])
      assert.isUndefined(turn.usage)
    })
  )

  it.live("a missing or repeated call id is named by the call's place, the same every time", () =>
    Effect.gen(function* () {
      const events = [
        tool(0, { name: "x", arguments: "{}" }),
        tool(1, { id: "same", name: "y", arguments: "{}" }),
        tool(2, { id: "same", name: "z", arguments: "{}" }),
        finish("tool_calls")
      ]
      const ids = (yield* turnOf(stream(events))).turn.calls.map((call) => call.model_id)
      assert.deepStrictEqual(ids, ["call_1_0", "same", "call_1_2"])
      assert.deepStrictEqual(
        (yield* turnOf(stream(events))).turn.calls.map((call) => call.model_id),
        ids
      )
    })
  )

  it.live("reasoning comes beside the text, with offsets of its own", () =>
    Effect.gen(function* () {
      const { deltas, turn } = yield* turnOf(
        stream([think("let me "), think("see"), say("42"), finish("stop")])
      )
      assert.deepStrictEqual(turn.reasoning, [{ text: "let me see" }])
      assert.strictEqual(turn.text, "42")
      assert.deepStrictEqual(
        deltas.map(({ kind, offset }) => [kind, offset]),
        [
          ["reasoning", 0],
          ["reasoning", 7],
          ["text", 0]
        ]
      )
    })
  )

  it.live("each finish of the wire has its name: length, content_filter, refusal, other", () =>
    Effect.gen(function* () {
      const finishOf = (events: ReadonlyArray<unknown>) =>
        Effect.map(turnOf(stream(events)), ({ turn }) => turn.finish)
      assert.strictEqual(yield* finishOf([say("a"), finish("length")]), "length")
      assert.strictEqual(yield* finishOf([say("a"), finish("content_filter")]), "content_filter")
      assert.strictEqual(yield* finishOf([refuse("I can't."), finish("stop")]), "refusal")
      assert.strictEqual(yield* finishOf([say("a"), finish("eos")]), "other")
      assert.strictEqual(
        yield* finishOf([tool(0, { id: "a", name: "x", arguments: "{}" }), finish("stop")]),
        "tool_calls"
      )
    })
  )

  it.live(
    "sends system, tools, calls and results in the wire's form, and the key as a bearer token",
    () =>
      Effect.gen(function* () {
        const server = yield* serve([stream(hello)])
        yield* ask(server.base_url, {
          model: "other-model",
          transcript: [
            { role: "user", text: "what is stuck?" },
            {
              role: "assistant",
              text: "",
              calls: [{ model_id: "call_a", name: "list", arguments: { limit: 5 } }]
            },
            {
              role: "tool",
              call: CallId.make("0/1.0"),
              model_id: "call_a",
              name: "list",
              outcome: { _tag: "Value", json: '["e-1"]' }
            }
          ],
          tools: [{ name: "list", description: "Lists.", input_schema: { type: "object" } }]
        })
        const { body, headers, path } = server.asked[0]!
        assert.strictEqual(path, "/v1/chat/completions")
        assert.strictEqual(headers.authorization, `Bearer ${key}`)
        assert.strictEqual(body["model"], "other-model")
        assert.strictEqual(body["stream"], true)
        assert.deepStrictEqual(body["stream_options"], { include_usage: true })
        assert.deepStrictEqual(body["messages"], [
          { role: "system", content: "You are terse." },
          { role: "user", content: "what is stuck?" },
          {
            role: "assistant",
            content: null,
            tool_calls: [
              {
                id: "call_a",
                type: "function",
                function: { name: "list", arguments: '{"limit":5}' }
              }
            ]
          },
          { role: "tool", tool_call_id: "call_a", content: '["e-1"]' }
        ])
        assert.deepStrictEqual(body["tools"], [
          {
            type: "function",
            function: { name: "list", description: "Lists.", parameters: { type: "object" } }
          }
        ])
      }).pipe(Effect.scoped)
  )
})

describe("AiSdkModelGateway: what goes wrong", () => {
  it.live("a refused key is a configuration error, tried once, and says nothing of the key", () =>
    Effect.gen(function* () {
      for (const code of [401, 403]) {
        const { attempts, failure } = yield* failureOf([
          status(code, error(`Incorrect API key provided: ${key}. See https://example.com/keys`))
        ])
        assert.strictEqual(failure.kind, "configuration")
        assert.include(failure.message, String(code))
        assert.strictEqual(attempts, 1)
      }
    })
  )

  it.live(
    "a request that the provider refuses fails once, with the provider's reason made safe",
    () =>
      Effect.gen(function* () {
        for (const code of [400, 404, 422]) {
          const { attempts, failure } = yield* failureOf([
            status(
              code,
              error(`no model\nnamed that (${key}), see http://127.0.0.1:80/x ${"y".repeat(900)}`)
            )
          ])
          assert.strictEqual(failure.kind, "refused")
          assert.include(failure.message, `${code}: no model named that`)
          assert.strictEqual(attempts, 1)
        }
      })
  )

  it.live("an exhausted quota is refused although the status is that of a rate limit", () =>
    Effect.gen(function* () {
      const { attempts, failure } = yield* failureOf([
        status(429, error("You exceeded your current quota", { code: "insufficient_quota" }))
      ])
      assert.strictEqual(failure.kind, "refused")
      assert.strictEqual(attempts, 1)
    })
  )

  it.live("transient statuses are tried three times and then said so", () =>
    Effect.gen(function* () {
      for (const code of [408, 409, 425, 429, 500, 503, 529]) {
        const { attempts, failure } = yield* failureOf([status(code, "<html>gateway</html>")])
        assert.strictEqual(failure.kind, "transient")
        assert.strictEqual(failure.message, `the provider answered ${code}`)
        assert.strictEqual(attempts, 3)
      }
    })
  )

  it.live("a rate limit says how long to wait, in seconds or as a date", () =>
    Effect.gen(function* () {
      const seconds = yield* failureOf([status(429, error("slow"), { "retry-after": "2" })])
      assert.strictEqual(seconds.failure.retry_after_ms, 2_000)
      const past = yield* failureOf([
        status(503, error("slow"), { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" })
      ])
      assert.strictEqual(past.failure.retry_after_ms, 0)
    })
  )

  for (const [name, answer] of [
    ["a rate limit", status(429, error("slow"), { "retry-after": "1" })],
    ["a server error", status(500, error("oops"))],
    ["a reset connection", reset],
    ["a cut stream", stream(hello, { cut: 300 })],
    ["a stream without a finish", stream([say("Hel")], { done: false })],
    ["an empty stream", stream([])],
    ["a broken chunk", stream([say("Hel"), { choices: "none" }])],
    ["an overloaded event", stream([say("Hel"), error("overloaded", { code: 529 })])]
  ] as const) {
    it.live(`${name} is tried again and the turn succeeds as one`, () =>
      Effect.gen(function* () {
        const server = yield* serve([answer, stream(hello)])
        const { deltas, turn } = yield* ask(server.base_url)
        assert.strictEqual(turn.text, "Hello, wörld 😀")
        assert.strictEqual(server.asked.length, 2)
        const begins = deltas.findLastIndex((delta) => delta.offset === 0)
        assert.strictEqual(
          deltas
            .slice(begins)
            .map((delta) => delta.text)
            .join(""),
          turn.text
        )
      }).pipe(Effect.scoped)
    )
  }

  it.live("a retry takes back what was said, even if the next attempt says nothing", () =>
    Effect.gen(function* () {
      const server = yield* serve([
        stream([say("half a sen"), error("overloaded")]),
        stream([tool(0, { id: "a", name: "x", arguments: "{}" }), finish("tool_calls")])
      ])
      const { deltas } = yield* ask(server.base_url)
      assert.deepStrictEqual(deltas, [
        { kind: "text", text: "half a sen", offset: 0 },
        { kind: "text", text: "", offset: 0 }
      ])
    }).pipe(Effect.scoped)
  )

  it.live(
    "an error event inside an answer is refused or configuration where its code says so",
    () =>
      Effect.gen(function* () {
        const refused = yield* failureOf([
          stream([say("a"), error("Token limit reached", { code: 400 })])
        ])
        assert.deepStrictEqual([refused.failure.kind, refused.attempts], ["refused", 1])
        assert.include(refused.failure.message, "Token limit reached")
        const named = yield* failureOf([
          stream([error("too long", { code: "context_length_exceeded" })])
        ])
        assert.strictEqual(named.failure.kind, "refused")
        const keyed = yield* failureOf([stream([error(`bad ${key}`, { code: "invalid_api_key" })])])
        assert.strictEqual(keyed.failure.kind, "configuration")
      })
  )

  it.live("a redirect is not followed, so that the key stays where it was sent", () =>
    Effect.gen(function* () {
      const elsewhere = yield* serve([stream(hello)])
      const { attempts, failure } = yield* failureOf([
        status(307, "", { location: `${elsewhere.base_url}/chat/completions` })
      ])
      assert.strictEqual(failure.kind, "configuration")
      assert.strictEqual(attempts, 1)
      assert.strictEqual(elsewhere.asked.length, 0)
    }).pipe(Effect.scoped)
  )

  it.live("an endpoint that nobody serves is transient and names no address", () =>
    Effect.gen(function* () {
      const server = yield* Effect.scoped(serve([reset]))
      const failure = yield* Effect.flip(ask(server.base_url))
      assert.strictEqual(failure.kind, "transient")
      assert.strictEqual(failure.message, "the provider could not be reached (ECONNREFUSED)")
    })
  )
})

describe("AiSdkModelGateway: interruption and time", () => {
  it.live(
    "interrupting a turn closes the connection, before the first byte and within a stream",
    () =>
      Effect.gen(function* () {
        for (const answer of [() => {}, stall([say("Hel")])] satisfies ReadonlyArray<Answer>) {
          const server = yield* serve([answer])
          const fiber = yield* Effect.forkChild(ask(server.base_url), { startImmediately: true })
          yield* Deferred.await(server.begun)
          yield* Fiber.interrupt(fiber)
          yield* Deferred.await(server.hungUp)
          assert.strictEqual(server.asked.length, 1)
        }
      }).pipe(Effect.scoped)
  )

  it.live("a silent stream is given up, its connection closed, and tried again", () =>
    Effect.gen(function* () {
      const server = yield* serve([stall([say("Hel")]), stream(hello)])
      const { turn } = yield* ask(server.base_url, {}, { idle_ms: 50 })
      yield* Deferred.await(server.hungUp)
      assert.strictEqual(turn.text, "Hello, wörld 😀")
      assert.strictEqual(server.asked.length, 2)
    }).pipe(Effect.scoped)
  )

  it.live("an attempt that takes too long is transient and says the bound", () =>
    Effect.gen(function* () {
      const server = yield* serve([() => {}])
      const failure = yield* Effect.flip(
        ask(server.base_url, {}, { timeout_ms: 40, attempts_max: 2 })
      )
      assert.strictEqual(failure.kind, "transient")
      assert.strictEqual(failure.message, "the provider did not answer within 40 ms")
      assert.strictEqual(server.asked.length, 2)
    }).pipe(Effect.scoped)
  )
})
