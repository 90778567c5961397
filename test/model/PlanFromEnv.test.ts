/**
 * The plan that the environment describes, against servers on loopback: fallbacks, limits and what is refused.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option } from "effect"
import * as ModelFromEnv from "../../layers/model/providers/ModelFromEnv.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { error, finish, say, serve, stall, status, stream } from "./ChatServer.ts"
import { environment, request } from "./Gateway.ts"

const hello = stream([say("hello"), finish("stop")])

const turns = (
  env: Record<string, string>,
  ask: (gateway: ModelGateway["Service"]) => Effect.Effect<void, unknown>
) =>
  Effect.gen(function* () {
    const chosen = yield* ModelFromEnv.choose({ backoff_initial_ms: 1, retry_after_ms_max: 5 })
    yield* Effect.provide(ModelGateway.use(ask), Option.getOrThrow(chosen).layer)
  }).pipe(Effect.provide(environment({ TROUPE_MODEL: "first", ...env })))

const models = (asked: ReadonlyArray<{ readonly body: Record<string, unknown> }>) =>
  asked.map(({ body }) => body["model"])

describe("ModelFromEnv: the plan", () => {
  it.live("calls the fallbacks in their order when a model keeps failing", () =>
    Effect.gen(function* () {
      const busy = status(503, error("busy"))
      const server = yield* serve([busy, busy, busy, busy, busy, busy, hello])
      yield* turns(
        { TROUPE_MODEL_BASE_URL: server.base_url, TROUPE_MODEL_FALLBACKS: "second, third" },
        (gateway) =>
          Effect.gen(function* () {
            assert.strictEqual((yield* gateway.turn(request(), () => {})).text, "hello")
          })
      )
      assert.strictEqual(
        models(server.asked).join(" "),
        "first first first second second second third"
      )
    }).pipe(Effect.scoped)
  )

  it.live(
    "makes a request wait while the allowed number run, until one of those is interrupted",
    () =>
      Effect.gen(function* () {
        const server = yield* serve([stall([say("a")]), hello])
        yield* turns(
          { TROUPE_MODEL_BASE_URL: server.base_url, TROUPE_MODEL_CONCURRENT: "1" },
          (gateway) =>
            Effect.gen(function* () {
              const first = yield* Effect.forkChild(gateway.turn(request(), () => {}))
              yield* Deferred.await(server.begun)
              const second = yield* Effect.forkChild(
                gateway.turn(request(), () => {}),
                {
                  startImmediately: true
                }
              )
              assert.lengthOf(server.asked, 1)
              yield* Fiber.interrupt(first)
              yield* Deferred.await(server.hungUp)
              assert.strictEqual((yield* Fiber.join(second)).text, "hello")
            })
        )
      }).pipe(Effect.scoped)
  )

  it.effect("refuses invalid limits and fallbacks with the name of the variable", () =>
    Effect.gen(function* () {
      for (const [name, value] of [
        ["TROUPE_MODEL_CONCURRENT", "0"],
        ["TROUPE_MODEL_TOKENS_PER_MINUTE", "lots"],
        ["TROUPE_MODEL_FALLBACKS", "second,first"],
        ["TROUPE_MODEL_FALLBACKS", "second,second"]
      ] as const) {
        const env = { TROUPE_MODEL_BASE_URL: "http://127.0.0.1:1/v1", [name]: value }
        const failure = yield* Effect.flip(turns(env, () => Effect.void))
        assert.include(String(failure), name)
        assert.notInclude(String(failure), value === "lots" ? value : "127.0.0.1")
      }
    })
  )
})
