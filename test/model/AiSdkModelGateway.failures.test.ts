/**
 * Failures between the live gateway and a server on loopback: which are tried again, and what their errors say.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { ask, key } from "./Gateway.ts"
import { error, finish, reset, say, serve, stall, status, stream, tool } from "./ChatServer.ts"
import type { Answer } from "./ChatServer.ts"

const hello = [say("Hel"), say("lo, wörld 😀"), finish("stop")]

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

describe("AiSdkModelGateway: failures", () => {
  it.live("a refused key is a configuration error after one try, without the key in its text", () =>
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
    "a request that the provider refuses fails after one try, with the provider's reason and no secrets",
    () =>
      Effect.gen(function* () {
        for (const code of [400, 413, 422]) {
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

  it.live("an unknown model is a configuration error that names it", () =>
    Effect.gen(function* () {
      const { attempts, failure } = yield* failureOf([
        status(404, error("The model `m-2` does not exist", { code: "model_not_found" }))
      ])
      assert.deepStrictEqual([failure.kind, attempts], ["configuration", 1])
      assert.include(failure.message, "does not know the model")
      assert.include(failure.message, "The model `m-2` does not exist")
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

  it.live("a transient status is tried three times, and the error says how often", () =>
    Effect.gen(function* () {
      for (const code of [408, 409, 425, 429, 500, 503, 529]) {
        const { attempts, failure } = yield* failureOf([status(code, "<html>gateway</html>")])
        assert.strictEqual(failure.kind, "transient")
        assert.strictEqual(failure.message, `the provider answered ${code}`)
        assert.strictEqual(attempts, 3)
      }
    })
  )

  it.live("a rate limit's wait is read in seconds or as a date", () =>
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
    ["a rate limit", status(429, error("slow"), { "retry-after-ms": "4" })],
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

  it.live(
    "a retry withdraws the deltas of the failed attempt, even if the next attempt has none",
    () =>
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

  it.live("an error event inside an answer is classified by its code", () =>
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

  it.live(
    "an error object with status 200 is classified by its code, and a body that is no JSON is transient",
    () =>
      Effect.gen(function* () {
        const refused = yield* failureOf([status(200, error("no such role", { code: 400 }))])
        assert.deepStrictEqual([refused.failure.kind, refused.attempts], ["refused", 1])
        const unknown = yield* failureOf([status(200, error("no such model", { code: 404 }))])
        assert.deepStrictEqual([unknown.failure.kind, unknown.attempts], ["configuration", 1])
        assert.include(unknown.failure.message, "does not know the model")
        const broken = yield* failureOf([status(200, "<html></html>")])
        assert.deepStrictEqual([broken.failure.kind, broken.attempts], ["transient", 3])
      })
  )

  it.live(
    "a turn that the journal does not take is refused after one try, whatever it is long in",
    () =>
      Effect.gen(function* () {
        const long = (text: string) => Array.from({ length: 43 }, () => text.repeat(100_000))
        for (const events of [
          [...long("x").map(say), finish("stop")],
          // Six bytes each in JSON.
          [...long("\u0001").slice(0, 8).map(say), finish("stop")],
          [
            tool(0, { id: "a", name: "look", arguments: `"${long("x").join("")}"` }),
            finish("stop")
          ],
          [tool(0, { id: long("x").join(""), name: "look", arguments: "{}" }), finish("stop")]
        ]) {
          const server = yield* serve([stream(events)])
          const failure = yield* Effect.flip(Effect.asVoid(ask(server.base_url)))
          assert.strictEqual(failure.message, "the provider's answer is too large")
          assert.strictEqual(failure.kind, "refused")
          assert.strictEqual(server.asked.length, 1)
        }
        const named = { ...(say("hello") as object), model: "m".repeat(1_000_000) }
        const server = yield* serve([stream([named, finish("stop")])])
        assert.strictEqual((yield* ask(server.base_url)).turn.model?.length, 200)
      }).pipe(Effect.scoped)
  )

  it.live("an answer larger than 32,000,000 bytes is abandoned after one try", () =>
    Effect.gen(function* () {
      const server = yield* serve([status(200, JSON.stringify("x".repeat(32_000_001)))])
      const failure = yield* Effect.flip(ask(server.base_url))
      assert.strictEqual(failure.kind, "refused")
      assert.strictEqual(server.asked.length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("a redirect is not followed, so that no other host gets the key", () =>
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

  it.live("an endpoint where nothing listens is a transient error without the address", () =>
    Effect.gen(function* () {
      const server = yield* Effect.scoped(serve([reset]))
      const failure = yield* Effect.flip(ask(server.base_url))
      assert.strictEqual(failure.kind, "transient")
      assert.strictEqual(failure.message, "the provider could not be reached (ECONNREFUSED)")
    })
  )
})

describe("AiSdkModelGateway: interruptions and time-outs", () => {
  it.live("an interruption closes the connection, before the first byte and within a stream", () =>
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

  it.live(
    "a silent stream is abandoned, its connection is closed, and the turn is tried again",
    () =>
      Effect.gen(function* () {
        const server = yield* serve([stall([say("Hel")]), stream(hello)])
        const { turn } = yield* ask(server.base_url, {}, { idle_ms: 500 })
        yield* Deferred.await(server.hungUp)
        assert.strictEqual(turn.text, "Hello, wörld 😀")
        assert.strictEqual(server.asked.length, 2)
      }).pipe(Effect.scoped)
  )

  it.live("an attempt that takes too long is a transient error that names the bound", () =>
    Effect.gen(function* () {
      const server = yield* serve([() => {}])
      const failure = yield* Effect.flip(
        ask(server.base_url, {}, { timeout_ms: 500, attempts_max: 2 })
      )
      assert.strictEqual(failure.kind, "transient")
      assert.strictEqual(failure.message, "the provider did not answer within 500 ms")
      assert.strictEqual(server.asked.length, 2)
    }).pipe(Effect.scoped)
  )
})
