/**
 * Decodes a tool's arguments, and other JSON that a model gives, with an Effect Schema, and says what of its JSON Schema a model is
 * offered. Where no member can contain a further object, the names alone show whether there is an excess property, in a tenth of
 * the time of `onExcessProperty: "error"` (bench row `step`).
 */
import { Cause, Exit, Result, Schema } from "effect"
import { isPlainObject, isObject } from "../value/PlainObject.ts"
import { refusalPath, refusalText, ValueRefused, refusalPaths } from "./SchemaIssues.ts"
import { isSameJson } from "../value/Canonical.ts"
import { mapLeaves } from "../value/JsonText.ts"
import { readJson } from "../value/BoundedJson.ts"
import { definitionOf, withDefinitions } from "./SchemaDefinitions.ts"

const scalars = new Set<unknown>(["string", "number", "integer", "boolean", "null"])

/** Whether no value of this schema can be or contain an object. False if the schema leaves it open. */
const isFlat = (schema: unknown): boolean => {
  if (!isObject(schema)) return false
  if (Array.isArray(schema["anyOf"])) return schema["anyOf"].every(isFlat)
  if (schema["type"] === "array") {
    return (
      schema["prefixItems"] === undefined &&
      schema["items"] !== undefined &&
      isFlat(schema["items"])
    )
  }
  return scalars.has(schema["type"])
}

/** The member names that an object of this JSON Schema may have; undefined if a member can contain an object. */
export const flatNames = (
  schema: Readonly<Record<string, unknown>>
): ReadonlySet<string> | undefined => {
  const { properties } = schema
  if (schema["type"] !== "object" || !isObject(properties)) return undefined
  if (schema["patternProperties"] !== undefined || schema["anyOf"] !== undefined) return undefined
  return Object.values(properties).every(isFlat) ? new Set(Object.keys(properties)) : undefined
}

/** Whether the value is an object without other member names than these. */
export const hasOnly = (value: unknown, names: ReadonlySet<string>): boolean => {
  if (typeof value !== "object" || value === null) return false
  for (const name in value) if (!names.has(name)) return false
  return true
}

type Decode = (value: unknown) => Exit.Exit<unknown, unknown>

export const strictly = { onExcessProperty: "error" } as const

/** Decodes the JSON form of what a schema says, and refuses excess properties. */
export const jsonDecoder = (schema: Schema.Codec<unknown, unknown>): Decode =>
  Schema.decodeUnknownExit(Schema.toCodecJson(schema) as Schema.Codec<unknown, unknown>, strictly)

const not_finite = Exit.fail(new ValueRefused({ message: "NaN and Infinity are no numbers here" }))

/** Decodes and refuses excess properties. If no member can contain an object, only the names have to be checked. */
const closedEffectDecoder = (
  schema: Schema.Decoder<unknown>,
  json_schema: Readonly<Record<string, unknown>>
): Decode => {
  const strict = Schema.decodeUnknownExit(schema, strictly)
  const names = flatNames(json_schema)
  if (names === undefined) return strict
  // The compiled decoder takes no options: where the names are right, both decode alike.
  const plain = Schema.decodeUnknownExit(schema)
  return (args) => (hasOnly(args, names) ? plain(args) : strict(args))
}

/** Whether this JSON contains, at any depth, a text that JSON codecs read as NaN or Infinity. */
const saysNonFinite = (value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).some(saysNonFinite)
    : value === "NaN" || value === "Infinity" || value === "-Infinity"

/** Whether all numbers in the value are finite. False for a map or an instance of a class, which may hold any number. */
const isFinitely = (value: unknown): boolean => {
  if (typeof value !== "object" || value === null) {
    return typeof value !== "number" || Number.isFinite(value)
  }
  return (
    value instanceof Date ||
    ((Array.isArray(value) || isPlainObject(value)) && Object.values(value).every(isFinitely))
  )
}

/**
 * Rewrites a refusal that lists "NaN" and "Infinity" as expected values, which are refused as well: it says that a number is
 * expected.
 */
const withoutNonFinite = (exit: Exit.Failure<unknown, unknown>): Exit.Exit<unknown, unknown> => {
  const error = Cause.squash(exit.cause)
  if (!refusalText(error).includes('"NaN"')) return exit
  const path = refusalPath(error)
  const at = path.map((step) => `[${JSON.stringify(step)}]`).join("")
  return Exit.fail(new ValueRefused({ message: `Expected number\n  at ${at}`, path }))
}

/**
 * Decodes the JSON that a model gives. If the schema itself does not accept it, the schema's JSON form, which the model is
 * shown, decodes it: there a date is a text, and null stands for undefined. NaN and Infinity stay refused, because no comparison
 * in a permission or a body expects them. The JSON form is compiled when it is first needed, because most schemas equal it
 * (bench row `step`).
 */
export const effectDecoder = (
  schema: Schema.Codec<unknown, unknown>,
  json_schema: Readonly<Record<string, unknown>>
): Decode => {
  const decode = closedEffectDecoder(schema, json_schema)
  let decodeJson: Decode | undefined
  return (args) => {
    const decoded = decode(args)
    if (Exit.isSuccess(decoded)) return decoded
    decodeJson ??= Result.getOrElse(
      Result.try(() => jsonDecoder(schema)),
      // There is none where the author wrote the JSON Schema beside it.
      () => decode
    )
    const read = decodeJson(args)
    if (Exit.isFailure(read)) return withoutNonFinite(read)
    // A text may say "NaN", and a number may not be it.
    return saysNonFinite(args) && !isFinitely(read.value) ? not_finite : read
  }
}

type JsonObject = Readonly<Record<string, unknown>>

const non_finite: ReadonlySet<unknown> = new Set(["NaN", "Infinity", "-Infinity"])

const isOfNumbers = (schema: unknown): boolean => isObject(schema) && schema["type"] === "number"

/** Whether this is the schema of the texts that stand for numbers without a finite value. */
const isOfNonFinite = (schema: unknown): boolean =>
  isObject(schema) &&
  Array.isArray(schema["enum"]) &&
  schema["enum"].length === non_finite.size &&
  schema["enum"].every((text) => non_finite.has(text))

/** The choices without those texts, where a number is one of them. */
const finiteChoices = (choices: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  choices.some(isOfNumbers) ? choices.filter((choice) => !isOfNonFinite(choice)) : choices

const finite = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(finite)
  return isObject(value) ? withFiniteNumbers(value) : value
}

/** The same JSON Schema with finite numbers alone. */
export const withFiniteNumbers = (schema: JsonObject): JsonObject => {
  const members = Object.entries(schema).map(([name, value]) => [name, finite(value)] as const)
  const { anyOf, ...beside }: JsonObject = Object.fromEntries(members)
  if (!Array.isArray(anyOf)) return Object.fromEntries(members)
  const choices = finiteChoices(anyOf)
  const [only] = choices
  return choices.length === 1 && isObject(only)
    ? { ...only, ...beside }
    : { anyOf: choices, ...beside }
}

/** The most values that all tries together look at. */
const looks_max = 1_000_000
/** The most tries: some schemas name one fault at a time. */
const tries_max = 1_000

/** An object or a list that is written as JSON in a text; any other value as it is. */
export const encodedIn = (value: unknown): unknown => {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value
  return Result.getOrElse(readJson(value), () => value)
}

/** How many values there are, and how many of them may be mended: nulls, and texts that begin as JSON does. */
const counted = (value: unknown, found: { values: number; odd: number }): void => {
  found.values++
  if (value === null || (typeof value === "string" && /^\s*[[{]/.test(value))) found.odd++
  else if (typeof value === "object") {
    for (const name in value) counted((value as Readonly<Record<string, unknown>>)[name], found)
  }
}

const withoutNulls = (value: unknown): unknown =>
  mapLeaves(
    value,
    (leaf) => leaf,
    (object) => Object.entries(object).filter(([, member]) => member !== null)
  )

/**
 * The value without the member at this path if it is null, and with what a text there encodes; undefined = it is no such member.
 * Of any other value at the path, such as one of a union whose choices have faults of their own, all members that are null are
 * left out.
 */
const mended = (value: unknown, [name, ...rest]: ReadonlyArray<string>): unknown => {
  if (name === undefined) {
    if (value === null) return undefined
    return typeof value === "string" ? encodedIn(value) : withoutNulls(value)
  }
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
  const member = (value as Readonly<Record<string, unknown>>)[name]
  if (rest.length === 0 && member === null && isObject(value)) {
    return Object.fromEntries(Object.entries(value).filter(([each]) => each !== name))
  }
  const less = mended(member, rest)
  if (less === undefined) return undefined
  if (Array.isArray(value)) return value.with(Number(name), less)
  return Object.fromEntries(
    Object.entries(value).map(([each, one]) => [each, each === name ? less : one])
  )
}

/**
 * Decodes, and where that fails again as the value is meant. Many models and clients write null for a member that they leave out,
 * so it counts as absent where a schema refuses null and lets the member be absent, optional or with a default; and some encode
 * an object or a list within a value once more, as a text. If this helps not, the first refusal stands. `decodeAll` may name more
 * than one fault; it is made when it is first needed.
 */
export const asMeant = (decode: Decode, decodeAll: () => Decode = () => decode): Decode => {
  let all: Decode | undefined
  return (args) => {
    const first = decode(args)
    if (Exit.isSuccess(first)) return first
    const found = { values: 0, odd: 0 }
    counted(args, found)
    if (found.odd === 0) return first
    all ??= decodeAll()
    const tries = Math.min(tries_max, found.odd, Math.floor(looks_max / found.values))
    let value = args
    for (let left = tries; left > 0; left--) {
      const exit = all(value)
      if (Exit.isSuccess(exit)) return decode(value)
      const paths = refusalPaths(Cause.squash(exit.cause))
      const before = value
      for (const path of paths) {
        if (path.length > 0) value = mended(value, path) ?? value
      }
      if (isSameJson(value, before)) break
    }
    const last = decode(value)
    return Exit.isSuccess(last) ? last : first
  }
}

/** Does a schema refuse null for certain? */
const refusesNull = (schema: unknown, definitions: JsonObject): boolean => {
  if (!isObject(schema)) return false
  const { anyOf, const: only, enum: some, type } = schema
  const name = definitionOf(schema)
  if (name !== undefined) {
    // A definition that is but another one refuses what that refuses; nobody follows it further.
    const definition = definitions[name]
    return definitionOf(definition) === undefined && refusesNull(definition, definitions)
  }
  if (Array.isArray(some)) return !some.includes(null)
  if (only !== undefined) return only !== null
  if (Array.isArray(anyOf)) return anyOf.every((each) => refusesNull(each, definitions))
  return Array.isArray(type) ? !type.includes("null") : typeof type === "string" && type !== "null"
}

/**
 * The value as its JSON Schema means it, before a library reads it that would make a 0 or a text of a null: without members that
 * are null where the schema refuses that and lets them be absent, and with the default of one that has to be there.
 */
const withoutRefusedNulls = (value: unknown, given: unknown, definitions: JsonObject): unknown => {
  if (typeof value !== "object" || value === null || !isObject(given)) return value
  const name = definitionOf(given)
  const schema = name === undefined ? given : definitions[name]
  if (!isObject(schema)) return value
  if (Array.isArray(value)) {
    return value.map((item) => withoutRefusedNulls(item, schema["items"], definitions))
  }
  const { properties, required } = schema
  if (!isObject(properties)) return value
  const names: ReadonlyArray<unknown> = Array.isArray(required) ? required : []
  const members = Object.entries(value).flatMap(([name, member]): Array<[string, unknown]> => {
    const of = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (member !== null || !refusesNull(of, definitions)) {
      return [[name, withoutRefusedNulls(member, of, definitions)]]
    }
    if (!names.includes(name)) return []
    return isObject(of) && "default" in of ? [[name, of["default"]]] : [[name, member]]
  })
  return Object.fromEntries(members)
}

const hasNull = (value: unknown): boolean =>
  value === null || (typeof value === "object" && Object.values(value).some(hasNull))

/** Gives what `withoutRefusedNulls` leaves of a value by this schema. */
export const nullsRead = (json_schema: JsonObject): ((value: unknown) => unknown) => {
  const schema = withDefinitions(json_schema)
  const { $defs } = schema
  const definitions: JsonObject = isObject($defs) ? $defs : {}
  return (value) => (hasNull(value) ? withoutRefusedNulls(value, schema, definitions) : value)
}
