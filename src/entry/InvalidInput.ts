/**
 * The one error of a value from outside that is not what it must be, and the way in: bounded, then decoded.
 */
import { Effect, Result, Schema, SchemaIssue } from "effect"
import type { JsonBounds } from "./BoundedJson.ts"
import { readJsonValue } from "./BoundedJson.ts"

/** Nothing was done. `field` is a path such as `by.roles.0`; `message` says what is expected there. */
export class InvalidInput extends Schema.TaggedError<InvalidInput>()("InvalidInput", {
  field: Schema.String,
  message: Schema.String
}) {}

/** What was sent may be quoted: at most so many characters of it. */
const message_max = 300

const cut = (text: string): string =>
  text.length > message_max ? `${text.slice(0, message_max)}...` : text

/** Names of members, as far as they are shown. */
const segment_max = 64

const formatted = SchemaIssue.makeFormatterStandardSchemaV1()

const invalid = (field: string, issue: SchemaIssue.Issue, expected: string | undefined) => {
  const [first] = formatted(issue).issues
  const path = (first?.path ?? []).map((part) =>
    String(typeof part === "object" ? part.key : part).slice(0, segment_max)
  )
  return new InvalidInput({
    field: [field, ...path].filter((part) => part !== "").join(".") || "options",
    message: cut(expected ?? first?.message ?? "it is not what is expected")
  })
}

/** Reads values of one schema; `expected` says in a sentence what is, where the schema's own words would not help. */
export const inputReader = <S extends Schema.Constraint & { readonly DecodingServices: never }>(
  schema: S,
  options: { readonly expected?: string; readonly bounds?: JsonBounds } = {}
): ((value: unknown, field: string) => Effect.Effect<S["Type"], InvalidInput>) => {
  const decode = Schema.decodeUnknownResult(schema as unknown as Schema.Decoder<S["Type"]>, {
    onExcessProperty: "error"
  })
  const read = (value: unknown, field: string): Result.Result<S["Type"], InvalidInput> => {
    if (value === undefined) {
      return Result.fail(new InvalidInput({ field, message: options.expected ?? "it is missing" }))
    }
    // A copy: what the decoder saw is what is used, whatever the giver does to its own.
    const plain = readJsonValue(value, options.bounds)
    if (Result.isFailure(plain)) {
      return Result.fail(new InvalidInput({ field, message: plain.failure.message }))
    }
    return Result.mapError(decode(plain.success), ({ issue }) =>
      invalid(field, issue, options.expected)
    )
  }
  return (value, field) => Effect.suspend(() => Effect.fromResult(read(value, field)))
}

/**
 * Reads a value of a program's own that is no JSON, such as one with functions or effects in it: each member has the shape
 * that it must have, and there is no other. Without a field, the members name themselves.
 */
export const shapeReader = <S extends Schema.Constraint & { readonly DecodingServices: never }>(
  schema: S
): ((value: unknown, field: string) => Effect.Effect<S["Type"], InvalidInput>) => {
  const decode = Schema.decodeUnknownResult(schema as unknown as Schema.Decoder<S["Type"]>, {
    onExcessProperty: "error"
  })
  return (value, field) =>
    Effect.suspend(() =>
      Effect.fromResult(
        Result.mapError(decode(value), ({ issue }) => invalid(field, issue, undefined))
      )
    )
}
