/**
 * Answers with a schema: how a message with an answer schema is sent, and how the text that its run ends with becomes a value.
 */
import { Cause, Effect, Exit, Result, Schema, Stream } from "effect"
import { bounds_default, readJson } from "../../../src/value/BoundedJson.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { otherThan } from "../../../src/schema/MisplacedValue.ts"
import type { AnySchema, InputCodec } from "../../../src/tool/ToolCodec.ts"
import { givenCodec } from "../../../src/tool/ToolCodec.ts"
import { refusalText } from "../../../src/schema/SchemaIssues.ts"
import type { Answer, Ended, EndedWith, Wait } from "./Answer.ts"
import { AnswerUnfit } from "./Answer.ts"
import type { RunPart, RunPartWith } from "./RunStream.ts"
import type { PartialJson } from "./PartialJson.ts"

const isSchema = (value: unknown): value is AnySchema =>
  ((typeof value === "object" && value !== null) || typeof value === "function") &&
  (Schema.isSchema(value) || "~standard" in value)

const expected =
  "Expected a schema of Effect, or any Standard Schema; a JSON Schema is a message's answer_schema"

/** The codec of an answer schema. Fails with InvalidInput if the value is not a schema, or cannot be expressed in JSON Schema. */
export const answerCodec = (
  schema: unknown,
  field: string
): Effect.Effect<InputCodec, InvalidInput> => {
  const wrong = (message: string) => Effect.fail(new InvalidInput({ field, reason: message }))
  if (!isSchema(schema)) return wrong(expected)
  const codec = Result.try(() => givenCodec(schema))
  if (Result.isFailure(codec)) return wrong(expected)
  return Result.isFailure(codec.success)
    ? wrong(codec.success.failure)
    : Effect.succeed(codec.success.success)
}

/** A message as it is sent, with its answer schema, if any, as JSON Schema. `codec` decodes the answer. */
export interface TypedMessage {
  readonly message: object
  readonly codec: InputCodec | undefined
}

/** Replaces a declared agent in a message by its name. */
const agentNamed = (message: unknown): unknown => {
  if (typeof message !== "object" || message === null || !("agent" in message)) return message
  const { agent } = message
  return typeof agent === "object" && agent !== null && "name" in agent
    ? { ...message, agent: agent.name }
    : message
}

/**
 * Takes the answer schema out of a message. A value that is not a message is left for the decoder of messages, which refuses it.
 */
export const typedMessage = (message: unknown): Effect.Effect<TypedMessage, InvalidInput> => {
  const other = otherThan(message, '{ agent: "shop", text: "..." }')
  if (other !== undefined) return Effect.fail(new InvalidInput({ field: "message", reason: other }))
  const read = Result.try(() => {
    const named = agentNamed(message)
    if (typeof named !== "object" || named === null || !("answer" in named)) return { named }
    const { answer, ...rest } = named
    return { named, asked: { answer, rest } }
  })
  if (Result.isFailure(read)) {
    return Effect.succeed({ message: message as object, codec: undefined })
  }
  const { asked, named } = read.success
  if (asked === undefined) return Effect.succeed({ message: named as object, codec: undefined })
  const { answer, rest } = asked
  return Effect.map(answerCodec(answer, "message.answer"), (codec) => ({
    message: { ...rest, answer_schema: codec.json_schema },
    codec
  }))
}

/** The end of a run, with the value of its text. Fails with AnswerUnfit if only the schema's code refuses the value. */
export const withValue = <A extends Answer>(
  codec: InputCodec,
  answer: A
): Effect.Effect<A & { readonly value?: unknown }, AnswerUnfit> => {
  if (answer.status !== "complete") return Effect.succeed(answer)
  const { conversation, run, text } = answer
  const unfit = (problem: string) =>
    Effect.fail(new AnswerUnfit({ run, conversation, problem, text }))
  const json = readJson(text, bounds_default)
  if (Result.isFailure(json)) return unfit(json.failure.message)
  const value = codec.decode(json.success)
  return Exit.isSuccess(value)
    ? Effect.succeed({ ...answer, value: value.value })
    : unfit(refusalText(Cause.squash(value.cause)))
}

/** The options of a wait without its answer schema, and the codec of that schema. */
export const typedWait = Effect.fnUntraced(function* (wait: unknown) {
  if (typeof wait !== "object" || wait === null || !Object.hasOwn(wait, "answer")) {
    return { wait: wait as Wait | undefined, codec: undefined }
  }
  const { answer, ...rest } = wait as { readonly answer: unknown } & Wait
  return { wait: rest, codec: yield* answerCodec(answer, "wait.answer") }
})

const typedEnd = (codec: InputCodec, answer: Ended) =>
  withValue(codec, answer) as Effect.Effect<EndedWith<unknown>, AnswerUnfit>

/** A part of a run's stream, with or without an answer schema. */
export type AnyPart = RunPart | RunPartWith<unknown>

/** The parts of a run. With an answer schema they include the value of the answer, as it is written and at the end. */
export const withValues = <E, R>(
  codec: InputCodec | undefined,
  parts: Stream.Stream<RunPart, E, R>
): Stream.Stream<AnyPart, E | AnswerUnfit, R> =>
  codec === undefined
    ? parts
    : Stream.unwrap(
        // Loaded only here, because it brings a parser.
        Effect.map(
          Effect.promise(() => import("./PartialJson.ts")),
          ({ PartialJson }) => {
            const partial = new PartialJson()
            return Stream.flatMap(parts, (part) => valueParts(codec, partial, part))
          }
        )
      )

const valueParts = (
  codec: InputCodec,
  partial: PartialJson,
  part: RunPart
): Stream.Stream<AnyPart, AnswerUnfit> => {
  if (part.type === "end") {
    return Stream.fromEffect(
      Effect.map(typedEnd(codec, part.answer), (answer): AnyPart => ({ type: "end", answer }))
    )
  }
  if (part.type === "restart") partial.restart(part.step)
  if (part.type !== "text") return Stream.make(part)
  const value = partial.add(part.step, part.text)
  return value === undefined
    ? Stream.make(part)
    : Stream.make(part, { type: "value", step: part.step, value })
}
