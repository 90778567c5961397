/**
 * Models that report their costs to a tool's call, for bodies that call a model:
 *
 * ```ts
 * const summarise = tool({ ... }, ({ text }, call) =>
 *   metered(call)(Effect.map(LanguageModel.generateText({ prompt: text }), (response) => response.text))
 * )
 * ```
 *
 * What a model says of its tokens is told when its turn is done. A turn that fails or is interrupted says nothing of them,
 * though its provider may charge for it.
 */
import { Context, Effect, Stream } from "effect"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import type { Spend } from "../../../src/cost/Spending.ts"
import { ModelGateway } from "../../../services/ModelGateway.ts"
import { partOf } from "./LanguageModelParts.ts"
import type { StreamedPart } from "./LanguageModelParts.ts"
import { usageOf } from "../wire/TurnFinish.ts"

/**
 * The part of a call's context that reports costs: the second argument of a body, or `callOf(context)` for a handler passed to
 * `govern`.
 */
export interface Metering {
  readonly spent?: Spend
}

/** A gateway whose turns are charged to the call. */
export const gateway = (
  { spent }: Metering,
  service: ModelGateway["Service"]
): ModelGateway["Service"] =>
  spent === undefined
    ? service
    : {
        turn: (request, sink) =>
          Effect.map(service.turn(request, sink), (turn) => {
            spent({ model: turn.model ?? request.model, usage: turn.usage })
            return turn
          })
      }

/** Reads usage from the end of an answer, and the model's name from a part before it. */
const listener = (spent: Spend, name: string | undefined) => {
  let model = name
  return (part: StreamedPart): boolean => {
    const known = partOf(part)
    if (known?.type === "response-metadata") model = known.modelId
    if (known?.type !== "finish") return false
    spent({ model, usage: usageOf(known.usage) })
    return true
  }
}

type Generates = (
  options: never
) => Effect.Effect<{ readonly content: ReadonlyArray<StreamedPart> }, unknown, unknown>
type Streams = (options: never) => Stream.Stream<StreamedPart, unknown, unknown>

/** An `effect/ai` model whose answers are charged to the call. `name` is the model's name if it does not report one itself. */
export const languageModel = (
  { spent }: Metering,
  service: LanguageModel.LanguageModel,
  name?: string
): LanguageModel.LanguageModel => {
  if (spent === undefined) return service
  const generates =
    (generate: Generates): Generates =>
    (options) =>
      Effect.map(generate(options), (answer) => {
        const listen = listener(spent, name)
        let finished = false
        for (const part of answer.content) if (listen(part)) finished = true
        // An answer without an end was charged by the provider as well.
        if (!finished) spent({ model: name })
        return answer
      })
  const streams =
    (stream: Streams): Streams =>
    (options) =>
      Stream.suspend(() => {
        const listen = listener(spent, name)
        return Stream.map(stream(options), (part) => {
          listen(part)
          return part
        })
      })
  // The types of an answer follow from its options, and are those of the model that is wrapped.
  return {
    ...service,
    generateText: generates(service.generateText as Generates) as never,
    generateObject: generates(service.generateObject as Generates) as never,
    streamText: streams(service.streamText as Streams) as never
  }
}

/** Charges every `ModelGateway` and `LanguageModel` that the Effect finds among its services to the call. */
export const metered =
  (call: Metering) =>
  <A, E, R>(body: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.updateContext(body, (context: Context.Context<R>) => {
      let within = context as Context.Context<unknown>
      const provided = Context.getOption(within, ModelGateway)
      if (provided._tag === "Some") {
        within = Context.add(within, ModelGateway, gateway(call, provided.value))
      }
      const model = Context.getOption(within, LanguageModel.LanguageModel)
      if (model._tag === "Some") {
        const name = Context.getOption(within, Model.ModelName)
        const known = name._tag === "Some" ? name.value : undefined
        const service = languageModel(call, model.value, known)
        within = Context.add(within, LanguageModel.LanguageModel, service)
      }
      return within as Context.Context<R>
    })
