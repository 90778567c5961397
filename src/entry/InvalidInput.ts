/**
 * The error for a value from outside that does not have its expected form, and the readers that check bounds and decode.
 */
import { Effect, Result, Schema } from "effect"
import type { SchemaIssue } from "effect"
import { cutText, truncateUnits } from "../CutText.ts"
import type { JsonBounds } from "./BoundedJson.ts"
import { readJsonValue } from "./BoundedJson.ts"
import { firstSchemaIssue } from "./SchemaIssues.ts"

/** The call had no effect. `field` is a path such as `by.roles.0`; `message` says what is expected there. */
export class InvalidInput extends Schema.TaggedError<InvalidInput>()("InvalidInput", {
  field: Schema.String,
  message: Schema.String
}) {}

/** The longest message in UTF-16 units; it may quote the value. */
const message_max = 300

/** The longest name of a member in a path, in UTF-16 units. */
const segment_max = 64

const invalid = (field: string, issue: SchemaIssue.Issue, expected: string | undefined) => {
  const { message = "it is not what is expected", path } = firstSchemaIssue(issue)
  const segments = path.map((part) => truncateUnits(part, segment_max))
  return new InvalidInput({
    field: [field, ...segments].filter((part) => part !== "").join(".") || "options",
    message: cutText(expected ?? message, message_max)
  })
}

/** A reader of values of one schema. `expected` replaces the schema's own message by a sentence. */
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
    // The decoder gets a copy, so that the caller cannot change the value after it was checked.
    const plain = readJsonValue(value, options.bounds)
    if (Result.isFailure(plain)) {
      return Result.fail(new InvalidInput({ field, message: plain.failure.message }))
    }
    const decoded = decode(plain.success)
    return Result.isSuccess(decoded)
      ? Result.succeed(decoded.success)
      : Result.fail(invalid(field, decoded.failure.issue, options.expected))
  }
  return (value, field) => Effect.suspend(() => Effect.fromResult(read(value, field)))
}

/**
 * A reader of a program's value that is not JSON, such as one with functions or Effects in it. Each member is checked, and
 * unknown members are refused. With an empty `field`, errors name the member alone.
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
