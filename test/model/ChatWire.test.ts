/**
 * Deviations of endpoints for chat completions, over real HTTP: what the client library would lose or refuse is read.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { finish, say, serve, status, stream, usage } from "./ChatServer.ts"
import type { Answer } from "./ChatServer.ts"
import { ask } from "./Gateway.ts"
import { askAt, body, stalled } from "./Wires.ts"
import { anthropic, compatible, google, openai, responses, wires } from "./WireTurns.ts"
import type { Wire } from "./WireTurns.ts"

const turnOf = (answer: Answer) =>
  Effect.gen(function* () {
    const server = yield* serve([answer])
    return (yield* ask(server.base_url)).turn
  }).pipe(Effect.scoped)

/** The same answer as a stream, as a whole to a request for a stream, and as a whole that was asked for. */
const calledWith = (made: object) =>
  Effect.gen(function* () {
    const calls = [{ index: 0, id: "a", type: "function", function: { name: "x", ...made } }]
    const chunk = (delta: object, finish_reason: string | null) => ({
      id: "1",
      choices: [{ index: 0, delta, finish_reason }]
    })
    const whole = status(200, {
      choices: [
        { index: 0, finish_reason: "tool_calls", message: { content: null, tool_calls: calls } }
      ]
    })
    const streamed = yield* turnOf(stream([chunk({ tool_calls: calls }, null), chunk({}, "stop")]))
    const asked = yield* serve([whole])
    const { turn } = yield* askAt(compatible, asked, { env: { TROUPE_MODEL_STREAM: "off" } })
    return [streamed, yield* turnOf(whole), turn].map((each) => each.calls)
  }).pipe(Effect.scoped)

describe("ChatWire", () => {
  it.live("arguments are read where they are an object, null or absent instead of text", () =>
    Effect.gen(function* () {
      for (const [made, args] of [
        [{ arguments: { limit: 5 } }, { limit: 5 }],
        [{ arguments: null }, {}],
        [{}, {}]
      ] as const) {
        for (const calls of yield* calledWith(made)) {
          assert.deepStrictEqual(calls, [{ model_id: "a", name: "x", arguments: args }])
        }
      }
    })
  )

  it.live("of several choices in one stream only the first one with content is read", () =>
    Effect.gen(function* () {
      const choice = (index: number, content: string, finish_reason: string | null = null) => ({
        id: "1",
        choices: [{ index, delta: { content }, finish_reason }]
      })
      const events = [
        choice(0, "It "),
        choice(1, "This "),
        choice(1, "will", "length"),
        choice(0, "rains."),
        choice(0, "", "stop"),
        usage({ prompt_tokens: 3, completion_tokens: 4 })
      ]
      for (const wire of [openai, compatible]) {
        for (const bytes of [1, 4096]) {
          const server = yield* serve([stream(events, { bytes })])
          const { turn } = yield* askAt(wire, server)
          assert.deepStrictEqual([turn.text, turn.finish], ["It rains.", "stop"])
          assert.strictEqual(turn.usage?.output_tokens, 4)
        }
      }
      const other = yield* turnOf(stream([choice(1, "Only me."), choice(1, "", "stop")]))
      assert.strictEqual(other.text, "Only me.")
    }).pipe(Effect.scoped)
  )

  it.live("tokens are counted from each vendor's place for them", () =>
    Effect.gen(function* () {
      const counted = (counts: object) => ({ prompt_tokens: 9, completion_tokens: 2, ...counts })
      const usageOf = (event: unknown) =>
        Effect.map(turnOf(stream([say("a"), finish("stop"), event])), (turn) => turn.usage)
      const whole = { input_tokens: 9, output_tokens: 2 }
      assert.deepStrictEqual(yield* usageOf(usage(counted({}))), whole)
      for (const name of ["prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens"]) {
        const event = usage(counted({ [name]: 8 }))
        assert.deepStrictEqual(yield* usageOf(event), { ...whole, cached_tokens: 8 }, name)
      }
      const written = usage(counted({ prompt_tokens_details: { cache_write_tokens: 7 } }))
      assert.deepStrictEqual(yield* usageOf(written), { ...whole, cache_write_tokens: 7 })
      for (const none of [-1, 1e16, 1e300]) {
        const event = usage({ prompt_tokens: none, completion_tokens: 2, cached_tokens: none })
        assert.deepStrictEqual(yield* usageOf(event), { ...whole, input_tokens: 0 }, String(none))
      }
      const vendor = { id: "1", choices: [], x_groq: { id: "r", usage: counted({}) } }
      assert.deepStrictEqual(yield* usageOf(vendor), whole)
    })
  )

  it.live(
    "a stream is over with its [DONE] or last event, also where the endpoint holds the connection open",
    () =>
      Effect.gen(function* () {
        // As an endpoint writes it that names no event, or whose type is not its first member.
        const unnamed = body(responses).replaceAll(/^event: .*\n/gm, "")
        const turned = body(responses).replaceAll(
          /^data: \{"type":("[^"]*"),(.*)\}$/gm,
          'data: {$2,"type":$1}'
        )
        const held = [
          [openai, body(openai)],
          [compatible, body(compatible)],
          [anthropic, body(anthropic)],
          [responses, body(responses)],
          [responses, unnamed],
          [responses, turned]
        ] as const
        const ask = Effect.fnUntraced(function* ([wire, text]: (typeof held)[number]) {
          const server = yield* serve([stalled(text)])
          const { turn } = yield* askAt(wire, server, { policy: { idle_ms: 2_000 } })
          assert.deepStrictEqual(turn, wire.turn)
          yield* Deferred.await(server.hungUp)
        })
        yield* Effect.forEach(held, ask, { concurrency: "unbounded" })
      }).pipe(Effect.scoped)
  )

  it.live(
    "a connection serves the next turn, also where the answer before ended a moment late",
    () =>
      Effect.gen(function* () {
        const connectionsOf = Effect.fnUntraced(function* (wire: Wire) {
          const connections = new Set<unknown>()
          const late: Answer = (reply) => {
            connections.add(reply.socket)
            reply.writeHead(200, { "content-type": "text/event-stream" })
            reply.write(body(wire))
            setTimeout(() => reply.end(), wire === google ? 0 : 20)
          }
          const server = yield* serve([late])
          for (let turn = 0; turn < 2; turn++) {
            yield* askAt(wire, server)
            yield* Effect.sleep(60)
          }
          return connections.size
        })
        for (const wire of wires) {
          // On a busy machine a moment may be longer than an end is waited for.
          const least = yield* Effect.repeat(connectionsOf(wire), {
            until: (size) => size === 1,
            times: 9
          })
          assert.strictEqual(least, 1, wire.provider)
        }
      }).pipe(Effect.scoped)
  )

  it.live("comments that keep a stream alive are no silence", () =>
    Effect.gen(function* () {
      const ask = Effect.fnUntraced(function* (wire: Wire) {
        const server = yield* serve([
          (reply) => {
            reply.writeHead(200, { "content-type": "text/event-stream" })
            let left = 30
            const alive = setInterval(() => {
              if (left-- > 0) return void reply.write(": keep-alive\n\n")
              clearInterval(alive)
              reply.end(body(wire))
            }, 50)
          }
        ])
        const { turn } = yield* askAt(wire, server, { policy: { idle_ms: 1_000 } })
        assert.deepStrictEqual(turn, wire.turn)
      })
      yield* Effect.forEach([openai, compatible], ask, { concurrency: "unbounded" })
    }).pipe(Effect.scoped)
  )

  it.live("an error object in place of a whole answer is classified by its code", () =>
    Effect.gen(function* () {
      for (const [code, kind] of [
        [400, "refused"],
        [502, "transient"]
      ] as const) {
        const server = yield* serve([status(200, { error: { message: "because", code } })])
        const failure = yield* Effect.flip(
          askAt(compatible, server, { env: { TROUPE_MODEL_STREAM: "off" } })
        )
        assert.strictEqual(failure.kind, kind)
        assert.include(failure.message, "because")
      }
    }).pipe(Effect.scoped)
  )

  it.live(
    "an empty answer without a finish reason is transient, and one with a finish reason is a turn",
    () =>
      Effect.gen(function* () {
        const server = yield* serve([stream([say("")])])
        const failure = yield* Effect.flip(askAt(compatible, server))
        assert.strictEqual(failure.kind, "transient")
        const turn = yield* turnOf(stream([say(""), finish("stop")]))
        assert.deepStrictEqual([turn.text, turn.calls.length, turn.finish], ["", 0, "stop"])
      }).pipe(Effect.scoped)
  )
})
