/**
 * The live gateway against a server on loopback: an answer, whole or in pieces, becomes one turn.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { CallId } from "../../src/value/Ids.ts"
import { ask, key } from "./Gateway.ts"
import { finish, refuse, say, serve, status, stream, think, tool, usage } from "./ChatServer.ts"
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

/** The turn of one answer to one request. */
const turnOf = (answer: Answer) =>
  Effect.gen(function* () {
    const server = yield* serve([answer])
    return yield* ask(server.base_url)
  }).pipe(Effect.scoped)

describe("AiSdkModelGateway: a turn on the wire", () => {
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
    it.live(`parallel calls are assembled from a body cut every ${bytes} bytes`, () =>
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

  it.live("arguments that are not JSON are kept as text, and absent ones are an empty object", () =>
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

  it.live(
    "a missing or repeated call id is replaced by one made of the call's place, the same every time",
    () =>
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

  it.live("reasoning has deltas beside those of the text, with offsets of their own", () =>
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

  it.live("each finish reason of the wire becomes length, content_filter, refusal or other", () =>
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
    "a stream that ends with [DONE] and without a finish reason is finished, with its calls",
    () =>
      Effect.gen(function* () {
        for (const bytes of [1, 4096]) {
          const spoken = yield* turnOf(stream([say('say "finish_reason":"x"')], { bytes }))
          assert.strictEqual(spoken.turn.finish, "other")
          assert.strictEqual(spoken.turn.text, 'say "finish_reason":"x"')
        }
        const called = yield* turnOf(stream([tool(0, { id: "a", name: "x", arguments: "{}" })]))
        assert.strictEqual(called.turn.finish, "tool_calls")
      })
  )

  it.live("one JSON object in answer to a request for a stream is read as a turn", () =>
    Effect.gen(function* () {
      const { deltas, turn } = yield* turnOf(
        status(200, {
          model: "wire-model-1",
          choices: [
            {
              index: 0,
              finish_reason: "tool_calls",
              message: {
                role: "assistant",
                content: "Looking.",
                tool_calls: [
                  { id: "a", type: "function", function: { name: "x", arguments: '{"n":1}' } },
                  { id: "", type: "function", function: { name: "y", arguments: "{}" } }
                ]
              }
            }
          ],
          usage: counts
        })
      )
      assert.deepStrictEqual(turn, {
        text: "Looking.",
        calls: [
          { model_id: "a", name: "x", arguments: { n: 1 } },
          { model_id: "call_1_1", name: "y", arguments: {} }
        ],
        finish: "tool_calls",
        usage: { input_tokens: 12, output_tokens: 7, cached_tokens: 5, reasoning_tokens: 3 },
        model: "wire-model-1"
      })
      assert.deepStrictEqual(deltas, [{ kind: "text", text: "Looking.", offset: 0 }])
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
