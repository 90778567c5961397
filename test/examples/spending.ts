import { Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { AgentSpec, tool } from "troupe"
import { start } from "troupe/embed"
import { metered } from "troupe/models"
import { call, scripted, text } from "troupe/testing"

// Any layer of an `effect/ai` LanguageModel. This one has no network, and counts its tokens.
const tokens = { uncached: undefined, cacheRead: undefined, cacheWrite: undefined, text: undefined }
const small = Layer.effect(
  LanguageModel.LanguageModel,
  LanguageModel.make({
    generateText: () =>
      Effect.succeed([
        { type: "response-metadata", id: "1", modelId: "small", timestamp: undefined },
        { type: "text", text: "It rained." },
        {
          type: "finish",
          reason: "stop",
          usage: {
            inputTokens: { ...tokens, total: 9_000 },
            outputTokens: { ...tokens, total: 100, reasoning: undefined }
          },
          response: undefined
        }
      ]),
    streamText: () => Stream.empty
  })
)

const summarise = tool(
  {
    namespace: "desk",
    name: "summarise",
    description: "Says in one sentence what a text says.",
    side_effects: "read",
    input: Schema.Struct({ text: Schema.String }),
    output: Schema.String
  },
  ({ text }, call) =>
    LanguageModel.generateText({ prompt: `In one sentence: ${text}` }).pipe(
      Effect.map((answer) => answer.text),
      metered(call),
      Effect.orDie
    )
)

const desk = AgentSpec.make({
  name: "desk",
  instructions: "Help.",
  tools: ["summarise"]
})
const troupe = await start({
  agents: [desk],
  tools: [Effect.provide(summarise, small)],
  model: scripted([call("summarise", { text: "It rained all day." }), text("It rained.")]),
  prices: {
    version: "2026-11",
    currency: "USD",
    prices: [{ model: "*", input: "0.1", output: "0.4" }]
  }
})
const { conversation } = await troupe.send({ agent: "desk", text: "What of this text?" })
for await (const item of troupe.watch(conversation)) {
  const event = item._tag === "Event" ? item.entry.event : undefined
  if (event?._tag === "CallSettled") {
    for (const { cost, model } of event.spent?.uses ?? [])
      console.log(event.spent?.tool, model, cost)
  }
  if (event?._tag === "RunEnded") break
}
await troupe.stop()

// Output:
// summarise small {
//   _tag: 'Priced',
//   agent: 'desk',
//   currency: 'USD',
//   amount: '0.00094',
//   prices: '2026-11'
// }
