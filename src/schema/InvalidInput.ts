/**
 * The error for a value from outside that does not have its expected form, and the readers that check bounds and decode.
 */
import { Effect, Exit, Result, Schema, SchemaAST, SchemaIssue, SchemaParser } from "effect"
import { cutText, truncateUnits } from "../value/CutText.ts"
import type { JsonBounds } from "../value/BoundedJson.ts"
import { readJsonValue } from "../value/BoundedJson.ts"
import { defined, isPlainObject } from "../value/PlainObject.ts"
import { asMeant } from "./EffectDecoder.ts"
import { otherThan, ownerOf } from "./MisplacedValue.ts"
import { unknownMember } from "./PeerNames.ts"
import { firstSchemaIssue, ValueRefused } from "./SchemaIssues.ts"

/** A place as code writes it: `tools.0` becomes `tools[0]`. */
const written = (field: string): string => field.replace(/(?<=.)\.(\d+)(?![^.])/g, "[$1]")

/**
 * A value from outside is not what it has to be, and nothing was done with it. `field` is a path such as `by.roles.0`; `reason`
 * says what is wrong there and what to write instead; `owner` says whose member it is, such as `agent "shop"`. `message` has all
 * three.
 */
export class InvalidInput extends Schema.TaggedError<InvalidInput>()("InvalidInput", {
  /** The member at fault as a path, such as `by.roles.0`; empty = the whole value. */
  field: Schema.String,
  /** What is wrong there, and what to write instead. */
  reason: Schema.String,
  /** Whose member it is, such as `agent "shop"`. Absent = the place says enough. */
  owner: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const { field, owner, reason } = this
    const place = written(field)
    const said = reason.startsWith("it ") ? `${place}${reason.slice(2)}` : `${place}: ${reason}`
    return `${owner === undefined ? "" : `${owner}: `}${field === "" ? reason : said}`
  }
}

/** The longest message in UTF-16 units; it may quote the value. */
const message_max = 500

/** The longest name of a member in a path, in UTF-16 units. */
const segment_max = 64

/** The place in a field, with the field's own name before it. */
const fieldAt = (field: string, path: ReadonlyArray<string | number>): string => {
  const segments = path.map((part) => truncateUnits(String(part), segment_max).toWellFormed())
  return [field, ...segments].filter((part) => part !== "").join(".") || "options"
}

/** What a reader knows beside its schema. */
interface Said {
  /** A sentence that replaces the schema's own message. */
  readonly expected?: string
  /** How the whole value is written, for somebody who gives something else. */
  readonly shape?: string
  /** Whose members are read, such as `agent "shop"`. */
  readonly owner?: string
}

const invalid = (
  field: string,
  value: unknown,
  issue: SchemaIssue.Issue,
  { expected, owner }: Said
) => {
  const { message = "it is not what is expected", path } = firstSchemaIssue(issue, value)
  return new InvalidInput({
    field: fieldAt(field, path),
    reason: cutText(expected ?? message, message_max),
    ...defined({ owner })
  })
}

/** Down to which depth of a definition members that are undefined are left out. */
const definition_depth = 8

/** Leaves out the members of a definition that are undefined, which mean the same as absent ones. Items of lists stay. */
export const withoutUndefined = (value: unknown, depth = definition_depth): unknown => {
  if (depth === 0 || typeof value !== "object" || value === null) return value
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]: [string, unknown]) =>
      member === undefined ? [] : [[name, withoutUndefined(member, depth - 1)]]
    )
  )
}

/** What `make` gives, or its refusal as that of a decoder. */
const madeBy = (make: () => unknown): Exit.Exit<unknown, unknown> =>
  Result.match(Result.try(make), {
    onSuccess: Exit.succeed,
    onFailure: (error) => {
      const cause: unknown = error instanceof Error ? error.cause : undefined
      const path = SchemaIssue.isIssue(cause) ? firstSchemaIssue(cause).path : []
      return Exit.fail(new ValueRefused({ message: "it is refused", path }))
    }
  })

/**
 * Makes a schema's `make` throw InvalidInput that names the wrong or unknown member, and the `kind` of thing that has it, with its
 * name. Its own error only says that there is one, so somebody who writes a definition by hand would have to search for it.
 * Members that are undefined count as absent, as in a start's options, and so does a null that is refused.
 */
export const throwInvalidInputInMake = <S extends Schema.Constraint>(
  schema: S,
  kind: string
): void => {
  // The schema's own is made, and fixed, where it is first read.
  const make = SchemaParser.make(schema)
  const value = (given: unknown, options?: Schema.MakeOptions) => {
    const makeOf = (each: unknown) => make(each as never, { ...options, parseOptions: strict })
    const plain = withoutUndefined(given)
    const made = Result.try(() => makeOf(plain))
    if (Result.isSuccess(made)) return made.success
    const meant = asMeant((each) => madeBy(() => makeOf(each)))(plain)
    if (Exit.isSuccess(meant)) return meant.value
    const cause: unknown = made.failure instanceof Error ? made.failure.cause : undefined
    throw SchemaIssue.isIssue(cause)
      ? invalid("", given, cause, { owner: ownerOf(kind, given) })
      : made.failure
  }
  Object.defineProperty(schema, "make", { value, enumerable: true })
}

const strict = { onExcessProperty: "error" } as const

const strictDecoder = <A>(schema: Schema.Constraint) =>
  Schema.decodeUnknownResult(schema as Schema.Decoder<A>, strict)

/** Decodes JSON with members that are null as absent, where they may be; made when a value is first refused. */
const nullsDecoder = (schema: Schema.Constraint) => {
  const decode = schema as Schema.Decoder<unknown>
  return asMeant(Schema.decodeUnknownExit(decode, strict), () =>
    Schema.decodeUnknownExit(decode, { ...strict, errors: "all" })
  )
}

/** The problem of a member that the schema does not have, found before the value is read as JSON, which it may not be. */
const strayIn = (schema: Schema.Constraint, [name]: ReadonlyArray<string | number>) => {
  const { ast } = schema
  if (typeof name !== "string" || !SchemaAST.isObjects(ast) || ast.indexSignatures.length > 0)
    return
  const known = ast.propertySignatures.map((member) => String(member.name))
  return known.includes(name) ? undefined : unknownMember(name, known)
}

/** How an object of a schema is written; undefined for a value of another kind. */
const shapeOf = ({ ast }: Schema.Constraint): string | undefined => {
  if (!SchemaAST.isObjects(ast) || ast.propertySignatures.length === 0) return undefined
  const names = ast.propertySignatures.map(({ name }) => String(name))
  return `{ ${names.slice(0, 6).join(", ")}${names.length > 6 ? ", ..." : ""} }`
}

/** Makes a decoder for values of one schema. */
export const inputReader = <S extends Schema.Constraint & { readonly DecodingServices: never }>(
  schema: S,
  options: Said & { readonly bounds?: JsonBounds } = {}
): ((value: unknown, field: string) => Effect.Effect<S["Type"], InvalidInput>) => {
  const decode = strictDecoder<S["Type"]>(schema)
  let decodeNulls: ReturnType<typeof nullsDecoder> | undefined
  const read = (value: unknown, field: string): Result.Result<S["Type"], InvalidInput> => {
    if (value === undefined) {
      return Result.fail(new InvalidInput({ field, reason: options.expected ?? "it is missing" }))
    }
    const other = otherThan(value, options.shape ?? shapeOf(schema))
    if (other !== undefined) return Result.fail(new InvalidInput({ field, reason: other }))
    // The decoder gets a copy, so that the caller cannot change the value after it was checked.
    const plain = readJsonValue(value, options.bounds)
    if (Result.isFailure(plain)) {
      const { message, path = [] } = plain.failure
      const stray = strayIn(schema, path)
      return Result.fail(
        new InvalidInput({
          field: fieldAt(field, stray === undefined ? path : path.slice(0, 1)),
          reason: stray ?? message
        })
      )
    }
    const decoded = decode(plain.success)
    if (Result.isSuccess(decoded)) return Result.succeed(decoded.success)
    decodeNulls ??= nullsDecoder(schema)
    const meant = decodeNulls(plain.success)
    return Exit.isSuccess(meant)
      ? Result.succeed(meant.value as S["Type"])
      : Result.fail(invalid(field, plain.success, decoded.failure.issue, options))
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

/**
 * Makes a decoder for a program's value that is not JSON, such as one that contains functions or Effects. Each member is
 * checked, and unknown members are refused. With an empty `field`, errors name only the member.
 */
export const shapeReader = <S extends Schema.Constraint & { readonly DecodingServices: never }>(
  schema: S,
  options: Said = {}
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
          reason: "it cannot be read: reading a member of it fails"
        })
      }
      return Effect.fromResult(
        Result.mapError(decoded.success, ({ issue }) => invalid(field, value, issue, options))
      )
    })
}
