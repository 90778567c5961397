/** The environment of a second start in the same process. */
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { finish, say, serve, stream } from "./ChatServer.ts"

const shop = AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help." })
const options = { agents: [shop], model: "openai-compatible/m" }
const message = { agent: "shop", text: "hi" }
const variable = "TROUPE_MODEL_BASE_URL"

const answering = (text: string) =>
  Effect.map(serve([stream([say(text), finish("stop")])]), ({ base_url }) => base_url)

const restored = Effect.acquireRelease(
  Effect.sync(() => process.env[variable]),
  (before) =>
    Effect.sync(() => {
      if (before === undefined) delete process.env[variable]
      else process.env[variable] = before
    })
)

it.live("a start reads the environment as it is then, in promises and as a Layer", () =>
  Effect.gen(function* () {
    yield* restored
    const answers: Array<string | undefined> = []
    for (const name of ["one", "two"]) {
      process.env[variable] = yield* answering(name)
      const troupe = yield* Effect.promise(() => start(options))
      answers.push((yield* Effect.promise(() => troupe.ask(message))).text)
      yield* Effect.promise(() => troupe.stop())
    }
    process.env[variable] = yield* answering("three")
    const asked = Troupe.use((troupe) => troupe.ask(message))
    answers.push((yield* Effect.provide(asked, Troupe.layer(options))).text)
    assert.deepStrictEqual(answers, ["one", "two", "three"])
    // A provider of the caller's own stays.
    const env = { [variable]: yield* answering("own") }
    const own = ConfigProvider.layer(ConfigProvider.fromEnv({ env }))
    const answer = yield* Effect.provide(asked, Layer.provide(Troupe.layer(options), own))
    assert.strictEqual(answer.text, "own")
  }).pipe(Effect.scoped)
)
