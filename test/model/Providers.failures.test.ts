/**
 * What each provider does when it fails, over real HTTP: statuses, errors inside a good answer, streams that are cut, slow
 * or silent, and a run that nobody waits for.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { serve, status } from "./ChatServer.ts"
import type { Answer } from "./ChatServer.ts"
import { key } from "./Gateway.ts"
import { azure, bedrock, cohere, mistral, packagedWires, vertex, xai } from "./PackagedTurns.ts"
import { askAt, body, bytesOf, pieces, stalled } from "./Wires.ts"
import type { Asking } from "./Wires.ts"
import { anthropic, compatible, google, labelOf, openai, responses, wires } from "./WireTurns.ts"
import type { Wire } from "./WireTurns.ts"

const failureOf = (wire: Wire, answer: Answer, asking?: Asking) =>
  Effect.gen(function* () {
    const server = yield* serve([answer])
    return yield* Effect.flip(askAt(wire, server, asking))
  }).pipe(Effect.scoped)

const plain: Asking = { env: { TROUPE_MODEL_STREAM: "off" } }

/** An error status as the provider words it. */
const refusalOf = (wire: Wire, code: number, message: string): unknown => {
  switch (wire.provider) {
    case "anthropic":
      return { type: "error", error: { type: "api_error", message }, request_id: "req_1" }
    case "google":
      return { error: { code, message, status: "FAILED_PRECONDITION" } }
    default:
      return { error: { message, type: "some_error", param: null, code: null } }
  }
}

const kinds = [
  [400, "refused"],
  [401, "configuration"],
  [403, "configuration"],
  [404, "configuration"],
  [413, "refused"],
  [429, "transient"],
  [500, "transient"],
  [503, "transient"],
  [529, "transient"]
] as const

for (const wire of [...wires, ...packagedWires]) {
  describe(`Providers, failures: ${labelOf(wire)}`, () => {
    it.live(
      "each status is classified, streamed or not, with a reason that shows no key and no address",
      () =>
        Effect.gen(function* () {
          for (const [code, kind] of kinds) {
            const message = `it went wrong at http://10.0.0.1/x with ${key}`
            for (const asking of [undefined, plain]) {
              const failure = yield* failureOf(
                wire,
                status(code, refusalOf(wire, code, message), { "retry-after": "2" }),
                asking
              )
              assert.strictEqual(failure.kind, kind, String(code))
              assert.include(failure.message, String(code))
              assert.notInclude(failure.message, key)
              assert.notMatch(failure.message, /10\.0\.0\.1|127\.0\.0\.1|\n|\.ts:|\.js:/)
              if (code !== 401 && code !== 403) assert.include(failure.message, "it went wrong at")
              assert.strictEqual(failure.retry_after_ms, kind === "transient" ? 2_000 : undefined)
            }
          }
        })
    )

    it.live(
      "a stream that is cut at any event, or within it, is a transient error, never a turn",
      () =>
        Effect.gen(function* () {
          const last = wire.streamed.length - (wire.trailing ?? 0)
          for (let events = 0; events < last; events++) {
            const text = bytesOf({ ...wire, path: "" }, wire.streamed.slice(0, events))
            const more = bytesOf(wire, wire.streamed.slice(events, events + 1))
            for (const answer of [
              pieces(text, [4096]),
              pieces(text, [4096], text.length),
              pieces(Buffer.concat([text, more.subarray(0, more.length / 2)]), [512])
            ]) {
              const failure = yield* failureOf(wire, answer)
              assert.strictEqual(failure.kind, "transient", `cut after ${events} events`)
            }
          }
        })
    )

    if (wire.frames !== true) {
      it.live("a stream whose last event lacks its blank line is read, whatever is left out", () =>
        Effect.gen(function* () {
          const whole = bytesOf(wire).toString()
          const events = bytesOf({ ...wire, path: "" }).toString()
          for (const text of [whole.slice(0, -1), whole.slice(0, -2), events.slice(0, -2)]) {
            const server = yield* serve([pieces(text, [4096])])
            assert.deepStrictEqual((yield* askAt(wire, server)).turn, wire.turn)
          }
        }).pipe(Effect.scoped)
      )
    }

    it.live("a reset connection is a transient error", () =>
      Effect.gen(function* () {
        const failure = yield* failureOf(wire, (reply) => {
          reply.socket?.resetAndDestroy()
        })
        assert.strictEqual(failure.kind, "transient")
        assert.notMatch(failure.message, /127\.0\.0\.1/)
      })
    )

    it.live("a stream that falls silent is abandoned, and its connection is closed", () =>
      Effect.gen(function* () {
        const begun = bytesOf({ ...wire, path: "" }, wire.streamed.slice(0, 6))
        const server = yield* serve([stalled(begun)])
        // Where the machine is busy, an attempt may be over before it reaches the server.
        const failure = yield* Effect.flip(askAt(wire, server, { policy: { idle_ms: 100 } })).pipe(
          Effect.repeat({ until: () => Deferred.isDone(server.begun) })
        )
        assert.strictEqual(failure.kind, "transient")
        yield* Deferred.await(server.hungUp)
      }).pipe(Effect.scoped)
    )

    it.live("a stream that takes too long is abandoned, although it is never silent", () =>
      Effect.gen(function* () {
        const failure = yield* failureOf(wire, pieces(bytesOf(wire), [1], undefined, 5), {
          policy: { timeout_ms: 50, idle_ms: 40 }
        })
        assert.strictEqual(failure.kind, "transient")
      })
    )

    for (const asking of [{}, plain]) {
      const how = asking === plain ? "asked for whole" : "streamed"
      it.live(`an interrupted turn that is ${how} closes its connection`, () =>
        Effect.gen(function* () {
          const server = yield* serve([
            stalled(asking === plain ? "{" : bytesOf(wire).subarray(0, 200))
          ])
          const fiber = yield* Effect.forkChild(askAt(wire, server, asking))
          yield* Deferred.await(server.begun)
          yield* Fiber.interrupt(fiber)
          yield* Deferred.await(server.hungUp)
        }).pipe(Effect.scoped)
      )
    }
  })
}

/** An event in the middle of a stream that began well. */
const inBand = (wire: Wire, event: object) =>
  failureOf(wire, pieces(body(wire, [...wire.streamed.slice(0, 4), event]), [4096]))

/** An event before anything else. */
const atOnce = (wire: Wire, event: object) => failureOf(wire, pieces(body(wire, [event]), [4096]))

describe("Providers: an error inside an answer with status 200", () => {
  const message = "no, because of that"

  it.live("of Anthropic is classified by its type", () =>
    Effect.gen(function* () {
      for (const [type, kind] of [
        ["overloaded_error", "transient"],
        ["api_error", "transient"],
        ["rate_limit_error", "transient"],
        ["invalid_request_error", "refused"],
        ["authentication_error", "configuration"],
        ["not_found_error", "configuration"]
      ] as const) {
        for (const told of [inBand, atOnce]) {
          const failure = yield* told(anthropic, { type: "error", error: { type, message } })
          assert.strictEqual(failure.kind, kind, type)
          if (type !== "authentication_error") assert.include(failure.message, message)
        }
      }
    })
  )

  it.live("that is any event with a wrong member is transient, on every wire", () =>
    Effect.gen(function* () {
      const wrong = (event: object): object =>
        JSON.parse(
          JSON.stringify(event, (name, value: unknown) =>
            name === "delta" || name === "content_block" || name === "parts" ? 7 : value
          )
        ) as object
      for (const wire of wires) {
        let broken = 0
        for (const [at, event] of wire.streamed.entries()) {
          if (JSON.stringify(wrong(event)) === JSON.stringify(event)) continue
          const text = body(wire, wire.streamed.with(at, wrong(event)))
          const exit = yield* Effect.result(
            Effect.scoped(
              Effect.flatMap(serve([pieces(text, [text.length])]), (server) => askAt(wire, server))
            )
          )
          if (exit._tag === "Success") continue
          broken++
          assert.strictEqual(exit.failure.kind, "transient", `${wire.provider} ${at}`)
        }
        assert.isAbove(broken, 0, wire.provider)
      }
    })
  )

  it.live("of Responses is classified by its code, whether an event or a failed response", () =>
    Effect.gen(function* () {
      for (const [code, kind] of [
        ["server_error", "transient"],
        ["rate_limit_exceeded", "transient"],
        ["invalid_prompt", "refused"],
        ["insufficient_quota", "refused"],
        ["model_not_found", "configuration"]
      ] as const) {
        for (const event of [
          { type: "error", code, message, param: null, sequence_number: 9 },
          {
            type: "response.failed",
            sequence_number: 9,
            response: { id: "resp_1", status: "failed", error: { code, message } }
          }
        ]) {
          for (const told of [inBand, atOnce]) {
            const failure = yield* told(responses, event)
            assert.strictEqual(failure.kind, kind, `${event.type} ${code}`)
            assert.include(failure.message, message)
          }
        }
      }
    })
  )

  it.live("of Gemini is classified by its code", () =>
    Effect.gen(function* () {
      for (const [code, name, kind] of [
        [503, "UNAVAILABLE", "transient"],
        [429, "RESOURCE_EXHAUSTED", "transient"],
        [400, "INVALID_ARGUMENT", "refused"],
        [404, "NOT_FOUND", "configuration"]
      ] as const) {
        for (const told of [inBand, atOnce]) {
          const failure = yield* told(google, { error: { code, message, status: name } })
          assert.strictEqual(failure.kind, kind, name)
          assert.include(failure.message, message)
        }
      }
    })
  )

  it.live("of chat completions is classified by its code, a number or a name", () =>
    Effect.gen(function* () {
      for (const [code, kind] of [
        [502, "transient"],
        [429, "transient"],
        [400, "refused"],
        ["server_error", "transient"],
        ["context_length_exceeded", "refused"],
        ["model_not_found", "configuration"]
      ] as const) {
        for (const wire of [openai, compatible]) {
          for (const told of [inBand, atOnce]) {
            const failure = yield* told(wire, { error: { code, message } })
            assert.strictEqual(failure.kind, kind, `${wire.provider} ${code}`)
            assert.include(failure.message, message)
          }
        }
      }
    })
  )
})

/** An event after some of the answer, on the wire of a provider with a package of its own. */
const inPackaged = (wire: Wire, event: object) =>
  failureOf(wire, pieces(bytesOf(wire, [...wire.streamed.slice(0, 3), event]), [4096]))

describe("Providers with a package of their own: an error inside an answer with status 200", () => {
  const message = "no, because of that"

  it.live("of Bedrock is classified by its exception, also one that its client drops", () =>
    Effect.gen(function* () {
      for (const [name, kind] of [
        ["throttlingException", "transient"],
        ["internalServerException", "transient"],
        ["modelStreamErrorException", "transient"],
        ["modelTimeoutException", "transient"],
        ["modelNotReadyException", "transient"],
        ["serviceUnavailableException", "transient"],
        ["validationException", "refused"],
        ["serviceQuotaExceededException", "refused"],
        ["accessDeniedException", "configuration"],
        ["expiredTokenException", "configuration"],
        ["resourceNotFoundException", "configuration"]
      ] as const) {
        const failure = yield* inPackaged(bedrock, { [name]: { message } })
        assert.strictEqual(failure.kind, kind, name)
        if (kind !== "configuration") assert.include(failure.message, message)
      }
      const long = { validationException: { message: "Input is too long for requested model." } }
      assert.deepInclude(yield* inPackaged(bedrock, long), {
        kind: "refused",
        reason: "context_length"
      })
      const bad = {
        modelStreamErrorException: { originalMessage: message, originalStatusCode: 400 }
      }
      const failure = yield* inPackaged(bedrock, bad)
      assert.strictEqual(failure.kind, "refused")
      assert.include(failure.message, message)
    })
  )

  it.live("of xAI, Azure, Vertex and Mistral is classified by its code", () =>
    Effect.gen(function* () {
      const event = (code: string) => ({ type: "error", code, message, param: null })
      for (const wire of [xai, azure]) {
        assert.strictEqual((yield* inPackaged(wire, event("server_error"))).kind, "transient")
        const refused = yield* inPackaged(wire, event("invalid_prompt"))
        assert.strictEqual(refused.kind, "refused")
        assert.include(refused.message, message)
        const response = { id: "r", status: "failed", error: { code: "invalid_prompt", message } }
        const failed = yield* inPackaged(wire, { type: "response.failed", response })
        assert.strictEqual(failed.kind, "refused")
      }
      for (const [type, code, kind] of [
        ["invalid_request_error", "1000", "refused"],
        ["rate_limit_error", "1300", "transient"]
      ] as const) {
        const told = { object: "error", type, code, message, param: null }
        assert.strictEqual((yield* inPackaged(mistral, told)).kind, kind)
      }
      const error = { code: 400, message, status: "INVALID_ARGUMENT" }
      assert.strictEqual((yield* inPackaged(vertex, { error })).kind, "refused")
    })
  )

  it.live("of Cohere is a failed end, with its words for one", () =>
    Effect.gen(function* () {
      for (const finish_reason of ["ERROR", "TIMEOUT"]) {
        const failure = yield* inPackaged(cohere, {
          type: "message-end",
          delta: { finish_reason, usage: { tokens: { input_tokens: 1, output_tokens: 1 } } }
        })
        assert.strictEqual(failure.kind, "transient", finish_reason)
      }
    })
  )
})

describe("Providers with a package of their own: a call", () => {
  const call = (wire: Wire, events: ReadonlyArray<object>) =>
    Effect.gen(function* () {
      const server = yield* serve([pieces(bytesOf(wire, events), [4096])])
      return (yield* askAt(wire, server)).turn
    }).pipe(Effect.scoped)

  it.live("that nobody closed has no arguments, however whole they look", () =>
    Effect.gen(function* () {
      const toolUse = { toolUseId: "t1", name: "pay" }
      const begun = [
        { messageStart: { role: "assistant" } },
        { contentBlockStart: { contentBlockIndex: 0, start: { toolUse } } },
        { contentBlockDelta: { contentBlockIndex: 0, delta: { toolUse: { input: '{"n":12}' } } } }
      ]
      const open = yield* call(bedrock, [...begun, { messageStop: { stopReason: "tool_use" } }])
      assert.deepStrictEqual([open.finish, open.finish_raw], ["other", "tool_use"])
      assert.deepInclude(open.calls[0], { name: "pay", arguments: null, malformed: '{"n":12}' })
      const spoken = cohere.streamed.filter(
        ({ type }: { type?: string }) => type !== "tool-call-end"
      )
      const cut = yield* call(cohere, spoken)
      assert.strictEqual(cut.finish, "other")
      for (const { arguments: args } of cut.calls) assert.isNull(args)
    })
  )

  it.live(
    "of Cohere with null for arguments has none, and with no JSON goes back to the model",
    () =>
      Effect.gen(function* () {
        const saying = (args: string) =>
          cohere.streamed.map((event) =>
            JSON.stringify(event).includes('"tool-call-delta"')
              ? {
                  type: "tool-call-delta",
                  index: 0,
                  delta: { message: { tool_calls: { function: { arguments: args } } } }
                }
              : event
          )
        const turn = yield* call(cohere, saying("null"))
        assert.strictEqual(turn.finish, "tool_calls")
        assert.deepStrictEqual(turn.calls[0]?.arguments, {})
        const unread = yield* call(cohere, saying('{"limit": five}'))
        assert.include(unread.unreadable, '{"limit": five}')
        assert.lengthOf(unread.calls, 0)
      })
  )
})

describe("Providers: the time to wait", () => {
  const wait = (wire: Wire, body: unknown, headers: Record<string, string> = {}) =>
    Effect.map(failureOf(wire, status(429, body, headers)), (failure) => {
      assert.strictEqual(failure.kind, "transient")
      return failure.retry_after_ms
    })

  it.live("is read from Gemini's RetryInfo where no header has it", () =>
    Effect.gen(function* () {
      const details = [
        { "@type": "type.googleapis.com/google.rpc.Help", links: [] },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "18.5s" }
      ]
      const error = { code: 429, message: "quota", status: "RESOURCE_EXHAUSTED", details }
      assert.strictEqual(yield* wait(google, { error }), 18_500)
      assert.strictEqual(yield* wait(google, { error }, { "retry-after": "3" }), 3_000)
    })
  )

  it.live("is read from the reset of an exhausted limit, and of no other", () =>
    Effect.gen(function* () {
      const error = { message: "slow down", code: "rate_limit_exceeded" }
      const limits = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m2s",
        "x-ratelimit-remaining-tokens": "500",
        "x-ratelimit-reset-tokens": "6m0s"
      }
      assert.strictEqual(yield* wait(openai, { error }, limits), 62_000)
      const left = { ...limits, "x-ratelimit-remaining-requests": "7" }
      assert.isUndefined(yield* wait(openai, { error }, left))
    })
  )
})

describe("Providers: finish reasons", () => {
  const finishOf = (wire: Wire, whole: object) =>
    Effect.gen(function* () {
      const server = yield* serve([status(200, whole)])
      const { turn } = yield* askAt(wire, server, plain)
      return [turn.finish, turn.finish_raw]
    }).pipe(Effect.scoped)

  it.live("are mapped to length, content_filter, refusal or other", () =>
    Effect.gen(function* () {
      const claude = (stop_reason: string) =>
        finishOf(anthropic, {
          ...anthropic.whole,
          content: [{ type: "text", text: "a" }],
          stop_reason
        })
      assert.deepStrictEqual(yield* claude("end_turn"), ["stop", undefined])
      assert.deepStrictEqual(yield* claude("max_tokens"), ["length", undefined])
      assert.deepStrictEqual(yield* claude("refusal"), ["refusal", undefined])
      assert.deepStrictEqual(yield* claude("stop_sequence"), ["stop", "stop_sequence"])
      const gemini = (finishReason: string) =>
        finishOf(google, {
          candidates: [{ content: { role: "model", parts: [{ text: "a" }] }, finishReason }]
        })
      assert.deepStrictEqual(yield* gemini("STOP"), ["stop", undefined])
      assert.deepStrictEqual(yield* gemini("MAX_TOKENS"), ["length", undefined])
      assert.deepStrictEqual(yield* gemini("SAFETY"), ["content_filter", "SAFETY"])
      const response = (also: object) => finishOf(responses, { ...responses.whole, ...also })
      assert.deepStrictEqual(
        yield* response({
          output: [
            {
              id: "msg_1",
              type: "message",
              role: "assistant",
              status: "completed",
              content: [{ type: "refusal", refusal: "I can't." }]
            }
          ]
        }),
        ["refusal", undefined]
      )
      assert.deepStrictEqual(
        yield* response({
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
          output: []
        }),
        ["length", undefined]
      )
    })
  )
})
