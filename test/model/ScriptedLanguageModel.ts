/**
 * A real `effect/ai` LanguageModel that streams what a test gives it, and keeps what it was asked.
 */
import { Effect, Layer, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import type { AiError, Response } from "effect/ai"

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
  input: number,
  output: number,
  more: { readonly cached?: number; readonly reasoning?: number } = {}
): Extract<Response.StreamPartEncoded, { type: "finish" }>["usage"] => ({
  inputTokens: {
    total: input,
    uncached: undefined,
    cacheRead: more.cached,
    cacheWrite: undefined
  },
  outputTokens: { total: output, text: undefined, reasoning: more.reasoning }
})

export const finish = (
  reason: Extract<Response.StreamPartEncoded, { type: "finish" }>["reason"],
  counted = usage(1, 1)
): Response.StreamPartEncoded => ({ type: "finish", reason, usage: counted, response: undefined })

export const say = (id: string, ...deltas: ReadonlyArray<string>): Parts => [
  { type: "text-start", id },
  ...deltas.map((delta) => ({ type: "text-delta", id, delta }) as const),
  { type: "text-end", id }
]

export const think = (
  id: string,
  text: string,
  metadata?: Record<string, Record<string, string>>
): Parts => [
  { type: "reasoning-start", id },
  { type: "reasoning-delta", id, delta: text },
  { type: "reasoning-end", id, ...(metadata === undefined ? undefined : { metadata }) }
]

export const call = (id: string, name: string, params: unknown): Parts => [
  { type: "tool-params-start", id, name, providerExecuted: false },
  { type: "tool-params-delta", id, delta: JSON.stringify(params) },
  { type: "tool-params-end", id },
  { type: "tool-call", id, name, params, providerExecuted: false }
]

export const by = (modelId: string): Parts => [
  { type: "response-metadata", id: "r-1", modelId, timestamp: undefined }
]
