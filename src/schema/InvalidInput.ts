/**
 * The error for a value from outside that does not have its expected form, and the readers that check bounds and decode.
 */
import { Effect, Result, Schema, SchemaAST, SchemaIssue, SchemaParser } from "effect"
import { cutText, truncateUnits } from "../value/CutText.ts"
import type { JsonBounds } from "../value/BoundedJson.ts"
import { readJsonValue } from "../value/BoundedJson.ts"
import { excess_message, firstSchemaIssue } from "./SchemaIssues.ts"
import { didYouMean } from "../value/Nearest.ts"

/**
 * An argument is invalid, and the call had no effect. `field` is a path such as `by.roles.0`; `message` says what is expected
 * there.
 */
export class InvalidInput extends Schema.TaggedError<InvalidInput>()("InvalidInput", {
  field: Schema.String,
  message: Schema.String
}) {}

/** The longest message in UTF-16 units; it may quote the value. */
const message_max = 300

/** The longest name of a member in a path, in UTF-16 units. */
const segment_max = 64

/** The place in a field, with the field's own name before it. */
const fieldAt = (field: string, path: ReadonlyArray<string | number>): string => {
  const segments = path.map((part) => truncateUnits(String(part), segment_max).toWellFormed())
  return [field, ...segments].filter((part) => part !== "").join(".") || "options"
}

const invalid = (field: string, issue: SchemaIssue.Issue, expected: string | undefined) => {
  const { message = "it is not what is expected", path } = firstSchemaIssue(issue)
  return new InvalidInput({
    field: fieldAt(field, path),
    message: cutText(expected ?? message, message_max)
  })
}

/** Down to which depth of a definition members that are undefined are left out. */
const definition_depth = 8

/** Leaves out the members of a definition that are undefined, which mean the same as absent ones. Items of lists stay. */
export const withoutUndefined = (value: unknown, depth = definition_depth): unknown => {
  if (depth === 0 || typeof value !== "object" || value === null) return value
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]: [string, unknown]) =>
      member === undefined ? [] : [[name, withoutUndefined(member, depth - 1)]]
    )
  )
}

/**
 * Makes a schema's `make` throw InvalidInput that names the wrong member. Its own error only says that there is one, so somebody
 * who writes a definition by hand would have to search for it. Members that are undefined count as absent, as in a start's
 * options.
 */
export const throwInvalidInputInMake = <S extends Schema.Constraint>(schema: S): void => {
  // The schema's own is made, and fixed, where it is first read.
  const make = SchemaParser.make(schema)
  const value = (given: unknown, ...options: ReadonlyArray<never>) => {
    const made = Result.try(() => make(withoutUndefined(given) as never, ...options))
    if (Result.isSuccess(made)) return made.success
    const cause: unknown = made.failure instanceof Error ? made.failure.cause : undefined
    throw SchemaIssue.isIssue(cause) ? invalid("", cause, undefined) : made.failure
  }
  Object.defineProperty(schema, "make", { value, enumerable: true })
}

const strictDecoder = <A>(schema: Schema.Constraint) =>
  Schema.decodeUnknownResult(schema as Schema.Decoder<A>, { onExcessProperty: "error" })

/** Makes a decoder for values of one schema. `expected` is a sentence that replaces the schema's own message. */
export const inputReader = <S extends Schema.Constraint & { readonly DecodingServices: never }>(
  schema: S,
  options: { readonly expected?: string; readonly bounds?: JsonBounds } = {}
): ((value: unknown, field: string) => Effect.Effect<S["Type"], InvalidInput>) => {
  const decode = strictDecoder<S["Type"]>(schema)
  const read = (value: unknown, field: string): Result.Result<S["Type"], InvalidInput> => {
    if (value === undefined) {
      return Result.fail(new InvalidInput({ field, message: options.expected ?? "it is missing" }))
    }
    // The decoder gets a copy, so that the caller cannot change the value after it was checked.
    const plain = readJsonValue(value, options.bounds)
    if (Result.isFailure(plain)) {
      const { message, path = [] } = plain.failure
      return Result.fail(new InvalidInput({ field: fieldAt(field, path), message }))
    }
    const decoded = decode(plain.success)
    return Result.isSuccess(decoded)
      ? Result.succeed(decoded.success)
      : Result.fail(invalid(field, decoded.failure.issue, options.expected))
  }
  return (value, field) => Effect.suspend(() => Effect.fromResult(read(value, field)))
}

const readable_depth = 4

/** Whether all members of an object, and their members, can be read without a thrown error, down to `depth`. */
const isReadable = (value: unknown, depth: number): boolean => {
  if (typeof value !== "object" || value === null || depth === 0) return true
  const members = Result.try(() => Object.keys(value).map((name) => Reflect.get(value, name)))
  return (
    Result.isSuccess(members) && members.success.every((member) => isReadable(member, depth - 1))
  )
}

/** The name of the first member that cannot be read; empty if the value itself cannot be read. */
const unreadable = (value: unknown): string => {
  const names = Result.try(() => Object.keys(value as object))
  if (Result.isFailure(names)) return ""
  const found = names.success.find((name) => {
    const member = Result.try((): unknown => Reflect.get(value as object, name))
    return Result.isFailure(member) || !isReadable(member.success, readable_depth)
  })
  return truncateUnits(found ?? "", segment_max)
}

const firstLeaf = (issue: SchemaIssue.Issue): SchemaIssue.Issue => {
  const inner = "issue" in issue ? issue.issue : "issues" in issue ? issue.issues[0] : undefined
  return inner === undefined ? issue : firstLeaf(inner)
}

/**
 * The message for an unknown member, at any depth, that suggests a member of its struct with a similar name. Undefined = the
 * issue's own message is enough.
 */
const suggestedMember = (issue: SchemaIssue.Issue): string | undefined => {
  const { message, path } = firstSchemaIssue(issue)
  const leaf = firstLeaf(issue)
  if (message !== excess_message || leaf._tag !== "UnexpectedKey") return undefined
  const members = SchemaAST.isObjects(leaf.ast) ? leaf.ast.propertySignatures : []
  const near = didYouMean(
    path.at(-1) ?? "",
    members.map(({ name }) => String(name))
  )
  return near === "" ? undefined : `${excess_message}.${near}`
}

/**
 * Makes a decoder for a program's value that is not JSON, such as one that contains functions or Effects. Each member is
 * checked, and unknown members are refused. With an empty `field`, errors name only the member.
 */
export const shapeReader = <S extends Schema.Constraint & { readonly DecodingServices: never }>(
  schema: S
): ((value: unknown, field: string) => Effect.Effect<S["Type"], InvalidInput>) => {
  const decode = strictDecoder<S["Type"]>(schema)
  return (value, field) =>
    Effect.suspend(() => {
      // A getter or a proxy may throw anything.
      const decoded = Result.try(() => decode(value))
      if (Result.isFailure(decoded)) {
        const member = unreadable(value)
        return new InvalidInput({
          field: fieldAt(field, [member]),
          message: "it cannot be read: reading a member of it fails"
        })
      }
      return Effect.fromResult(
        Result.mapError(decoded.success, ({ issue }) =>
          invalid(field, issue, suggestedMember(issue))
        )
      )
    })
}
