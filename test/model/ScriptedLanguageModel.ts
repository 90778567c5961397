/**
 * A real `effect/ai` LanguageModel that streams what a test gives it, and records its prompts.
 */
import { Effect, Layer, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import type { AiError, Response } from "effect/ai"
import type { Turn } from "../../src/run/RunDecider.ts"

export type Parts = ReadonlyArray<Response.StreamPartEncoded>
export type Answer = Parts | Stream.Stream<Response.StreamPartEncoded, AiError.AiError>

/** One answer for each request, in order; the last one again for those beyond. */
export const languageModel = (...answers: ReadonlyArray<Answer>) => {
  const asked: Array<LanguageModel.ProviderOptions> = []
  const layer = Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: () => Effect.die(new Error("a turn is streamed")),
      streamText: (options) => {
        const answer = answers[Math.min(asked.length, answers.length - 1)]!
        asked.push(options)
        // Each part a chunk of its own, as they come off a wire.
        return Stream.isStream(answer)
          ? answer
          : Stream.fromIterable(answer).pipe(Stream.rechunk(1))
      }
    })
  )
  return { asked, layer }
}

export const usage = (
  input: number | undefined,
  output: number | undefined,
  more: {
    readonly cached?: number | undefined
    readonly reasoning?: number | undefined
    readonly written?: number | undefined
  } = {}
): Extract<Response.StreamPartEncoded, { type: "finish" }>["usage"] => ({
  inputTokens: {
    total: input,
    uncached: undefined,
    cacheRead: more.cached,
    cacheWrite: more.written
  },
  outputTokens: { total: output, text: undefined, reasoning: more.reasoning }
})

export const finish = (
  reason: Extract<Response.StreamPartEncoded, { type: "finish" }>["reason"],
  counted = usage(1, 1)
): Response.StreamPartEncoded => ({ type: "finish", reason, usage: counted, response: undefined })

/** A provider's own data of a part, in the form of the port's events. */
const wanted = (provider: unknown) =>
  provider === undefined ? {} : { metadata: provider as Record<string, Record<string, string>> }

export const say = (id: string, deltas: ReadonlyArray<string>, provider?: unknown): Parts => [
  { type: "text-start", id },
  ...deltas.map((delta) => ({ type: "text-delta", id, delta }) as const),
  { type: "text-end", id, ...wanted(provider) }
]

export const think = (id: string, text: string, provider?: unknown): Parts => [
  { type: "reasoning-start", id },
  ...(text === "" ? [] : [{ type: "reasoning-delta", id, delta: text } as const]),
  { type: "reasoning-end", id, ...wanted(provider) }
]

export const call = (id: string, name: string, params: unknown, provider?: unknown): Parts => [
  { type: "tool-params-start", id, name, providerExecuted: false },
  { type: "tool-params-delta", id, delta: JSON.stringify(params) },
  { type: "tool-params-end", id },
  { type: "tool-call", id, name, params, providerExecuted: false, ...wanted(provider) }
]

export const by = (modelId: string): Parts => [
  { type: "response-metadata", id: "r-1", modelId, timestamp: undefined }
]

/** A whole turn as the parts of a stream; its custom parts, which effect/ai has no word for, are left out. */
export const turnParts = (turn: Turn): Parts => {
  const { calls, finish: reason, parts, reasoning = [], text, usage: counted } = turn
  const order = parts ?? [
    ...reasoning.map(() => ({ of: "reasoning" as const })),
    ...(text === "" ? [] : [{ of: "text" as const, units: text.length }]),
    ...calls.map(() => ({ of: "call" as const }))
  ]
  const said: Array<Response.StreamPartEncoded> = [...by(turn.model ?? "")]
  let [spoken, thought, called] = [0, 0, 0]
  for (const [index, part] of order.entries()) {
    if (part.of === "text") {
      const whole = text.slice(spoken, (spoken += part.units))
      said.push(...say(`t-${index}`, [whole.slice(0, 7), whole.slice(7)], part.provider))
    } else if (part.of === "reasoning") {
      const { provider, text } = reasoning[thought++]!
      said.push(...think(`r-${index}`, text, provider))
    } else if (part.of === "call") {
      const { arguments: params, model_id, name, provider } = calls[called++]!
      said.push(...call(model_id, name, params, provider))
    }
  }
  said.push(
    finish(
      reason === "tool_calls" ? "tool-calls" : "stop",
      usage(counted?.input_tokens, counted?.output_tokens, {
        cached: counted?.cached_tokens,
        written: counted?.cache_write_tokens,
        reasoning: counted?.reasoning_tokens
      })
    )
  )
  return said
}
