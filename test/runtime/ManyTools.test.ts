/** An agent with more tools than most providers take in one request is warned of at the start. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { AgentSpec, tool } from "../../src/index.ts"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import { scripted, text } from "../../layers/compose/entries/Testing.ts"

const named = (name: string) =>
  tool({ namespace: "many", name, description: "Looks.", side_effects: "read" }, () => name)

/** The warnings of a start with an agent of so many tools. */
const warningsOf = (count: number) =>
  Effect.gen(function* () {
    const said: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => {
      if (logLevel === "Warn") said.push(String(message))
    })
    const names = Array.from({ length: count }, (_, at) => `look_${at}`)
    const agent = AgentSpec.make({ name: "many", instructions: "x", tools: names })
    const options = { agents: [agent], tools: names.map(named), model: scripted([text("Hi.")]) }
    const started = Troupe.layer(options).pipe(Layer.provide(Logger.layer([logger])))
    yield* Effect.scoped(Layer.build(started))
    return said.filter((each) => each.includes("tools"))
  })

describe("the start of an agent", () => {
  it.live("with 129 tools is warned of, and with 128 is not", () =>
    Effect.gen(function* () {
      const [warning, ...more] = yield* warningsOf(129)
      assert.include(warning, "128 tools")
      assert.lengthOf(more, 0)
      assert.lengthOf(yield* warningsOf(128), 0)
    })
  )
})
