/** Models in one line, over real HTTP: by a name, as an object of a provider's package, and several of them. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as ChosenModels from "../../layers/model/providers/ChosenModels.ts"
import type { ModelChoice } from "../../layers/model/providers/ChosenModels.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { ChatServer } from "./ChatServer.ts"
import { serve, status } from "./ChatServer.ts"
import { environment, key, request } from "./Gateway.ts"
import { anthropic, compatible, google, openai, responses } from "./WireTurns.ts"
import type { Wire } from "./WireTurns.ts"
import { body, pieces, stalled } from "./Wires.ts"

const variables = [
  [openai, "OPENAI_BASE_URL", "OPENAI_API_KEY", "authorization"],
  [responses, "OPENAI_BASE_URL", "OPENAI_API_KEY", "authorization"],
  [anthropic, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "x-api-key"],
  [google, "GOOGLE_GENERATIVE_AI_BASE_URL", "GOOGLE_GENERATIVE_AI_API_KEY", "x-goog-api-key"],
  [compatible, "TROUPE_MODEL_BASE_URL", "TROUPE_MODEL_API_KEY", "authorization"]
] as const

const addressOf = (wire: Wire, server: ChatServer) => new URL(wire.base, server.base_url).href

/** One turn of these models. */
const turnOf = (
  choices: readonly [ModelChoice, ...ReadonlyArray<ModelChoice>],
  env: Record<string, string> = {},
  model?: string
) =>
  ModelGateway.use((gateway) => gateway.turn(request({ model }), () => {})).pipe(
    Effect.provide(ChosenModels.layer(...choices).pipe(Layer.provide(environment(env))))
  )

describe("a model in one line", () => {
  for (const [wire, address, secret, header] of variables) {
    it.live(`is ${wire.provider}/NAME, with the key of ${secret}`, () =>
      Effect.gen(function* () {
        const server = yield* serve([pieces(body(wire), [4096])])
        const env = { [address]: addressOf(wire, server), [secret]: key }
        const turn = yield* turnOf([`${wire.provider}/wire-model`], env)
        assert.strictEqual(turn.text, wire.turn.text)
        assert.deepStrictEqual(turn.calls, wire.turn.calls)
        const [asked] = server.asked
        assert.include(String(asked?.headers[header]), key)
        assert.include(`${asked?.path} ${asked?.body["model"]}`, "wire-model")
      }).pipe(Effect.scoped)
    )
  }

  it.live("is a model object of any package, and no other model than it", () =>
    Effect.gen(function* () {
      const server = yield* serve([pieces(body(responses), [4096])])
      const baseURL = addressOf(responses, server)
      const model = createOpenAI({ baseURL, apiKey: key })("wire-model")
      const turn = yield* turnOf([model])
      assert.strictEqual(turn.text, responses.turn.text)
      // As with a name: state at the provider is outside our control.
      assert.isFalse(server.asked[0]?.body["store"])
      assert.strictEqual((yield* turnOf([model], {}, "wire-model")).text, responses.turn.text)
      const refused = yield* Effect.flip(turnOf([model], {}, "another"))
      assert.deepInclude(refused, { _tag: "ModelError", kind: "configuration" })
      assert.include(refused.message, "another")
      assert.lengthOf(server.asked, 2)
    }).pipe(Effect.scoped)
  )

  it.live(
    "is several, of which the next is asked where one cannot answer, and any by its name",
    () =>
      Effect.gen(function* () {
        const broken = yield* serve([status(500, { error: { message: "down" } })])
        const server = yield* serve([pieces(body(anthropic), [4096])])
        const first = createOpenAI({ baseURL: addressOf(responses, broken), apiKey: key })("large")
        const second = createAnthropic({ baseURL: addressOf(anthropic, server), apiKey: key })(
          "small"
        )
        assert.strictEqual((yield* turnOf([first, second])).text, anthropic.turn.text)
        const tried = broken.asked.length
        assert.isAtLeast(tried, 1)
        assert.strictEqual((yield* turnOf([first, second], {}, "small")).text, anthropic.turn.text)
        assert.lengthOf(broken.asked, tried)
        // Two of one name are told apart by their providers.
        const twin = createOpenAI({ baseURL: addressOf(responses, broken), apiKey: key })("small")
        assert.strictEqual((yield* turnOf([second, twin], {}, "small")).text, anthropic.turn.text)
        assert.lengthOf(broken.asked, tried)
      }).pipe(Effect.scoped)
  )

  it.live(
    "is asked for as long as TROUPE_MODEL_TIMEOUT_MS says, by its name and as an object",
    () =>
      Effect.gen(function* () {
        const server = yield* serve([stalled(body(responses).slice(0, 40))])
        const baseURL = addressOf(responses, server)
        const env = {
          OPENAI_BASE_URL: baseURL,
          OPENAI_API_KEY: key,
          XAI_BASE_URL: baseURL,
          XAI_API_KEY: key,
          TROUPE_MODEL_TIMEOUT_MS: "40"
        }
        const object = createOpenAI({ baseURL, apiKey: key })("m")
        for (const choice of ["openai-responses/m", "xai/m", object]) {
          const failure = yield* Effect.flip(turnOf([choice], env))
          assert.include(failure.message, "within 40 ms")
        }
        const wrong = { ...env, TROUPE_MODEL_TIMEOUT_MS: "soon" }
        const refused = yield* Effect.flip(turnOf(["openai-responses/m"], wrong))
        assert.include(refused.message, "TROUPE_MODEL_TIMEOUT_MS")
      }).pipe(Effect.scoped)
  )

  it.live("shows no secret of the environment in what a client's error says", () =>
    Effect.gen(function* () {
      const plain = "AQAB.plain.words"
      const server = yield* serve([status(400, { error: { message: `the key ${plain} is odd` } })])
      process.env["CHOSEN_API_KEY"] = plain
      yield* Effect.addFinalizer(() => Effect.sync(() => delete process.env["CHOSEN_API_KEY"]))
      const model = createOpenAI({ baseURL: addressOf(responses, server), apiKey: plain })("m")
      const error = yield* Effect.flip(turnOf([model]))
      assert.include(error.message, "is odd")
      assert.notInclude(JSON.stringify(error), plain)
    }).pipe(Effect.scoped)
  )

  const unusable: ReadonlyArray<
    readonly [choice: string, env: Record<string, string>, part: string]
  > = [
    ["anthropic/claude", {}, "ANTHROPIC_API_KEY is not set"],
    ["anthropic/claude", { ANTHROPIC_API_KEY: "  " }, "ANTHROPIC_API_KEY is not set"],
    ["openai/gpt", { OPENAI_API_KEY: "a b" }, "OPENAI_API_KEY holds a space"],
    ["openai/gpt", { OPENAI_API_KEY: key, OPENAI_BASE_URL: "ftp://x" }, "OPENAI_BASE_URL is not"],
    ["openai-compatible/qwen", {}, "TROUPE_MODEL_BASE_URL is not set"],
    ["constructor/large", {}, "object of its AI SDK package"]
  ]
  for (const [choice, env, part] of unusable) {
    it.effect(`is refused as ${choice} with ${JSON.stringify(Object.keys(env))}: ${part}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(
          Effect.provide(ChosenModels.planOf([choice]), environment(env))
        )
        assert.deepInclude(error, { _tag: "ModelError", kind: "configuration" })
        assert.include(error.message, part)
        assert.notInclude(error.message, key)
      })
    )
  }
})

describe("start", () => {
  const shop = AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help." })
  const started = (model: Options["model"]) =>
    Effect.promise(() => start({ agents: [shop], model }))

  it.live("takes a model object, and answers with it", () =>
    Effect.gen(function* () {
      const events = [
        {
          id: "1",
          object: "chat.completion.chunk",
          created: 1,
          model: "m",
          choices: [
            {
              index: 0,
              delta: { role: "assistant", content: "It is paid." },
              finish_reason: "stop"
            }
          ]
        }
      ]
      const server = yield* serve([pieces(body(openai, events), [4096])])
      const { chat } = createOpenAI({ baseURL: addressOf(openai, server), apiKey: key })
      for (const model of [chat("m"), [chat("m"), chat("n")]]) {
        const troupe = yield* started(model)
        const { status, text } = yield* Effect.promise(() =>
          troupe.ask({ agent: "shop", text: "Is it?" })
        )
        assert.deepStrictEqual([status, text], ["complete", "It is paid."])
        yield* Effect.promise(() => troupe.stop())
      }
    }).pipe(Effect.scoped)
  )

  it.live("rejects with what is missing before it opens anything", () =>
    Effect.gen(function* () {
      const error = yield* Effect.promise(() =>
        start({ agents: [shop], model: "mistral/large", store: { directory: "/proc/none" } }).then(
          () => undefined,
          (error: unknown) => error
        )
      )
      assert.deepInclude(error, { _tag: "ModelError", kind: "configuration" })
    })
  )
})
