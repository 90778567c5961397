/** A turn whose stream ends each time before its last event fails, and what was written of it is kept. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { Answer } from "./ChatServer.ts"
import { finish, reset, say, serve, stream } from "./ChatServer.ts"
import { environment } from "./Gateway.ts"

const shop = AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help." })

/** The answers to two messages of one conversation, and what the server was sent. */
const answersOf = (answers: ReadonlyArray<Answer>) =>
  Effect.gen(function* () {
    const server = yield* serve(answers)
    const model = "openai-compatible/m"
    const started = Layer.provide(
      Troupe.layer({ agents: [shop], model }),
      environment({ TROUPE_MODEL_BASE_URL: server.base_url })
    )
    return yield* Effect.gen(function* () {
      const troupe = yield* Troupe
      const first = yield* troupe.ask({ agent: "shop", text: "May I?" })
      const { conversation } = first
      const next = yield* troupe.ask({ agent: "shop", conversation, text: "And now?" })
      return { first, next, asked: server.asked }
    }).pipe(Effect.provide(started))
  }).pipe(Effect.scoped)

const half = "The refund is fine unless"
const whole = stream([say("It is."), finish("stop")])

describe("a turn that breaks off", () => {
  for (const [how, cut] of [
    ["in order", stream([say(half)], { done: false })],
    ["with its connection", stream([say(half), say(" it")], { done: false, cut: 250 })]
  ] as const) {
    it.live(`${how} at each attempt fails its run, which keeps the text`, () =>
      Effect.gen(function* () {
        const { asked, first, next } = yield* answersOf([cut, cut, cut, whole])
        assert.deepInclude(first, { status: "failed", reason: "model_transient", text: half })
        assert.lengthOf(asked, 4)
        assert.deepInclude(next, { status: "complete", text: "It is." })
        // The next message is answered with it in sight.
        assert.include(JSON.stringify(asked[3]?.body["messages"]), half)
      })
    )
  }

  it.live("keeps the text of the last attempt that wrote one, and none of a whole turn's", () =>
    Effect.gen(function* () {
      const cut = stream([say(half)], { done: false })
      const { first } = yield* answersOf([cut, reset, reset, whole])
      assert.deepInclude(first, { status: "failed", text: half })
      const { first: answered } = yield* answersOf([cut, whole])
      assert.deepInclude(answered, { status: "complete", text: "It is." })
    })
  )
})
