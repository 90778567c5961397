import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import * as ClientWarnings from "../../layers/model/wire/ClientWarnings.ts"
import { ModelSettings } from "../../src/agent/ModelSettings.ts"
import { serve } from "./ChatServer.ts"
import { askAt, body, pieces } from "./Wires.ts"
import { responses } from "./WireTurns.ts"

const heard = () => {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
  return { lines, layer: Logger.layer([logger]) }
}

describe("an option that a provider's client ignores", () => {
  it.live("is logged with the option and the model", () =>
    Effect.gen(function* () {
      const { layer, lines } = heard()
      const server = yield* serve([pieces(body(responses), [4096])])
      const settings = ModelSettings.make({
        provider_options: { openai: { reasoningSummary: "auto" } }
      })
      yield* Effect.provide(askAt(responses, server, { over: { settings } }), layer)
      assert.notProperty(server.asked[0]!.body, "reasoning")
      assert.deepStrictEqual(lines, [
        'the client of the model wire-model says: "reasoningSummary" was left out: reasoningSummary is not supported for non-reasoning models'
      ])
    }).pipe(Effect.scoped)
  )

  it.effect("is logged once for each model, and at most 200 times", () =>
    Effect.gen(function* () {
      const { layer, lines } = heard()
      const warn = ClientWarnings.make()
      const other = (message: string) => ({ type: "other" as const, message })
      yield* Effect.gen(function* () {
        yield* warn("m-1", [other("a"), { type: "unsupported", feature: "seed" }])
        yield* warn("m-1", [other("a")])
        yield* warn("m-2", [other("a")])
        for (let n = 0; n < 300; n++) yield* warn("m-3", [other(`${n}`)])
      }).pipe(Effect.provide(layer))
      assert.deepStrictEqual(lines.slice(0, 3), [
        "the client of the model m-1 says: a",
        'the client of the model m-1 says: "seed" was left out',
        "the client of the model m-2 says: a"
      ])
      assert.lengthOf(lines, 200)
    })
  )
})
