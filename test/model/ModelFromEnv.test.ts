/**
 * Which model the environment's variables select, and the errors where they are invalid.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as ModelFromEnv from "../../layers/model/providers/ModelFromEnv.ts"
import { ask, environment, key } from "./Gateway.ts"
import { error, serve, status } from "./ChatServer.ts"

const address = "https://models.example.test/v1"

const choose = (env: Record<string, string>) =>
  Effect.provide(ModelFromEnv.choose(), environment(env))

const refusal = (env: Record<string, string>) =>
  Effect.map(Effect.flip(choose(env)), (failure) => {
    assert.strictEqual(failure.kind, "configuration")
    for (const [name, value] of Object.entries(env)) {
      // A provider's name is no secret, and the message is of use only with it.
      if (name === "TROUPE_MODEL_PROVIDER") continue
      if (value.trim().length > 3) assert.notInclude(failure.message, value)
    }
    return failure.message
  })

describe("ModelFromEnv", () => {
  it.live("selects a provider by its name, at its own address unless another is set", () =>
    Effect.gen(function* () {
      for (const provider of ["openai", "openai-responses", "anthropic", "google"]) {
        const env = { TROUPE_MODEL_PROVIDER: provider, TROUPE_MODEL: "m-1" }
        const keyed = yield* choose({ ...env, TROUPE_MODEL_API_KEY: key })
        assert.strictEqual(Option.getOrThrow(keyed).model, "m-1")
        assert.include(yield* refusal(env), `TROUPE_MODEL_API_KEY is not set, and ${provider}`)
        assert.isTrue(Option.isSome(yield* choose({ ...env, TROUPE_MODEL_BASE_URL: address })))
      }
      assert.include(
        yield* refusal({ TROUPE_MODEL_PROVIDER: "openai-compatible", TROUPE_MODEL: "m-1" }),
        "TROUPE_MODEL_BASE_URL is not set"
      )
      assert.include(
        yield* refusal({ TROUPE_MODEL_PROVIDER: "anthropic" }),
        "TROUPE_MODEL is not set: name the model of anthropic"
      )
    })
  )

  it.effect("selects none where no address is set", () =>
    Effect.gen(function* () {
      assert.isTrue(Option.isNone(yield* choose({})))
      assert.isTrue(Option.isNone(yield* choose({ TROUPE_MODEL_BASE_URL: " ", TROUPE_MODEL: "m" })))
    })
  )

  it.effect("selects the model at the address, with or without a key", () =>
    Effect.gen(function* () {
      const env = { TROUPE_MODEL_BASE_URL: address, TROUPE_MODEL: "m-1" }
      assert.strictEqual(Option.getOrThrow(yield* choose(env)).model, "m-1")
      const keyed = yield* choose({ ...env, TROUPE_MODEL_API_KEY: `${key}\n` })
      assert.isTrue(Option.isSome(keyed))
    })
  )

  it.effect("fails with the name of the variable where an address has no model", () =>
    Effect.gen(function* () {
      assert.include(yield* refusal({ TROUPE_MODEL_BASE_URL: address }), "TROUPE_MODEL is not set")
    })
  )

  it.effect(
    "fails with the name of the variable, and not the value, where a value is invalid",
    () =>
      Effect.gen(function* () {
        const env = { TROUPE_MODEL_BASE_URL: address, TROUPE_MODEL: "m-1" }
        for (const bad of [
          "models.example.test",
          "ftp://models.example.test",
          "https://user:pass@models.example.test/v1",
          "https://models.example.test/v1?key=secret"
        ]) {
          const message = yield* refusal({ ...env, TROUPE_MODEL_BASE_URL: bad })
          assert.include(message, "TROUPE_MODEL_BASE_URL")
        }
        assert.include(
          yield* refusal({ ...env, TROUPE_MODEL_API_KEY: "two words" }),
          "TROUPE_MODEL_API_KEY"
        )
        assert.include(
          yield* refusal({ ...env, TROUPE_MODEL_PROVIDER: "claude-ai" }),
          "TROUPE_MODEL_PROVIDER is none of openai-compatible, openai, openai-responses"
        )
        assert.include(
          yield* refusal({ ...env, TROUPE_MODEL_STREAM: "perhaps" }),
          "TROUPE_MODEL_STREAM"
        )
        for (const bad of ["soon", "0", "-1", "1.5", "300001"]) {
          assert.include(
            yield* refusal({ ...env, TROUPE_MODEL_TIMEOUT_MS: bad }),
            "TROUPE_MODEL_TIMEOUT_MS"
          )
        }
      })
  )

  it.live("fails as a configuration error where the endpoint needs a key and none is set", () =>
    Effect.gen(function* () {
      const server = yield* serve([status(401, error("Missing bearer token"))])
      const failure = yield* Effect.flip(ask(server.base_url, {}, {}, { key: undefined }))
      assert.strictEqual(failure.kind, "configuration")
      assert.include(failure.message, "none is configured")
      assert.isUndefined(server.asked[0]!.headers.authorization)
    }).pipe(Effect.scoped)
  )
})
