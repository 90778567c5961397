/**
 * Reads all JSON that comes from outside: from requests, models, tools, servers, queues and embedders. The resulting values are
 * plain data within bounds, so code that walks them may be recursive. The time is linear in the length of the text.
 *
 * Nothing is altered. A number that a double cannot hold (`isExactNumber`) and a text with half of a surrogate pair are refused
 * with their place, or carried as they are, which `inexact` says.
 */
import { Result, Schema } from "effect"
import { truncateUnits } from "./CutText.ts"
import { isPlainObject } from "./PlainObject.ts"
import {
  endOfNumber,
  endOfString,
  nameOf,
  quote,
  skipWhitespace,
  isExactNumber,
  isRawNumber,
  parseExactly
} from "./JsonText.ts"
import type { RawNumber } from "./JsonText.ts"

type Json = Schema.Json

export interface JsonBounds {
  /** The deepest nesting of objects and lists; the outermost has depth 1. */
  readonly depth_max: number
  /** The greatest number of values: the outermost one, members of objects and items of lists. */
  readonly values_max: number
  /** The greatest number of UTF-16 units in a JSON text, or in all names and texts of a value. */
  readonly units_max: number
  /** `last`: the last of several members of one name counts, as in JSON.parse. Absent = such an object is refused. */
  readonly repeats?: "last"
  /**
   * Numbers that a double cannot hold, and texts with half of a surrogate pair. `carry`: such a number becomes one that
   * `JSON.stringify` writes as it was (`isRawNumber`), and the text stays; for results, which are kept as JSON text. `round`: as
   * in JSON.parse; for what nobody acts upon. Absent = they are refused.
   */
  readonly inexact?: "carry" | "round"
}

/** The default depth. Real documents are less deep, and recursion overflows the stack only far deeper. */
export const depth_max = 128

/** The default bounds: 128 levels, 20,000 values, 16,000,000 units. */
export const bounds_default: JsonBounds = { depth_max, values_max: 20_000, units_max: 16_000_000 }

/** The bounds for a tool's result, and for messages that contain one: the same depth, but more values and units. */
export const bounds_result: JsonBounds = {
  depth_max,
  values_max: 2_000_000,
  units_max: 64_000_000
}

/** The same for the JSON text of a result: what its tool has done must not be lost for a number or a text in it. */
export const bounds_carried: JsonBounds = { ...bounds_result, inexact: "carry" }

/**
 * A text or value was refused. `too_large`: it exceeds a bound, whether it is JSON or not. `not_json`: it is not JSON, an object
 * has a repeated member, or a number or a text would be altered.
 */
export class JsonRefused extends Schema.TaggedError<JsonRefused>()("JsonRefused", {
  reason: Schema.Literals(["too_large", "not_json"]),
  message: Schema.String,
  /** The place of what is refused. Absent = the value itself, or its place is not known. */
  path: Schema.optionalKey(Schema.Array(Schema.Union([Schema.String, Schema.Int])))
}) {}

type Path = ReadonlyArray<string | number>

const large = (message: string) => new JsonRefused({ reason: "too_large", message })
const wrong = (message: string) => new JsonRefused({ reason: "not_json", message })

/** Of a path in a message: the longest name, and the most names. */
const [segment_max, segments_max] = [64, 32]

/** A path as text, such as ` at order.lines.0`; empty for the value itself. */
const placeText = (path: Path): string =>
  path.length === 0
    ? ""
    : ` at ${path
        .slice(0, segments_max)
        .map((part) => truncateUnits(String(part), segment_max).toWellFormed())
        .join(".")}`

const wrongAt = (path: Path, what: (place: string) => string) =>
  new JsonRefused({ reason: "not_json", message: what(placeText(path)), path: [...path] })

const number_shown = 60

const inexactNumber = (number: string, path: Path) => {
  const shown = truncateUnits(number, number_shown)
  return wrongAt(path, (place) =>
    Math.abs(Number(number)) === Infinity
      ? `the number ${shown}${place} is larger than a number can be: give it as a text`
      : `the number ${shown}${place} would become ${Number(number)}: give it as a text, or with fewer digits`
  )
}

const illFormed = (path: Path) =>
  wrongAt(path, (place) => `the text${place} has half of a surrogate pair: send whole characters`)

const tooDeep = ({ depth_max }: JsonBounds) => large(`it nests deeper than ${depth_max}`)
const tooMany = ({ values_max }: JsonBounds) => large(`it has more than ${values_max} values`)
const tooLong = ({ units_max }: JsonBounds) => large(`it has more than ${units_max} characters`)
const duplicateMember = wrong("an object has a member twice")
const notJson = wrong("it is not JSON")

/** The path to the value or name that begins at this index of a text. */
const pathIn = (text: string, index: number): Path => {
  const path: Array<string | number> = []
  for (let at = 0; at < index; at++) {
    const unit = text.charCodeAt(at)
    if (unit === quote) {
      const end = endOfString(text, at)
      if (typeof path.at(-1) === "string" && text.charCodeAt(skipWhitespace(text, end + 1)) === 58)
        path[path.length - 1] = nameOf(text, at, end) ?? ""
      at = end
    } else if (unit === 123) path.push("")
    else if (unit === 91) path.push(0)
    else if (unit === 125 || unit === 93) path.pop()
    else if (unit === 44) {
      const last = path.at(-1)
      if (typeof last === "number") path[path.length - 1] = last + 1
    }
  }
  return path
}

/**
 * Checks the bounds of a text before it is parsed. Does not check its syntax; the parser does. `carries`: it is within the
 * bounds and has a number to carry as its text.
 */
const refusalOf = (text: string, bounds: JsonBounds): JsonRefused | "carries" | undefined => {
  let carries: "carries" | undefined
  /** The names of each open object so far; a list has none. */
  const open: Array<Set<string> | undefined> = []
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === quote) {
      const end = endOfString(text, at)
      const names = open.at(-1)
      if (
        names !== undefined &&
        bounds.repeats === undefined &&
        text.charCodeAt(skipWhitespace(text, end + 1)) === 58
      ) {
        const name = nameOf(text, at, end)
        if (name === undefined) return notJson
        if (names.has(name)) return duplicateMember
        names.add(name)
      }
      at = end
    } else if (unit === 123 || unit === 91) {
      if (open.length === bounds.depth_max) return tooDeep(bounds)
      open.push(unit === 123 ? new Set() : undefined)
      if (++values > bounds.values_max) return tooMany(bounds)
    } else if (unit === 125 || unit === 93) open.pop()
    else if (unit === 44) {
      if (++values > bounds.values_max) return tooMany(bounds)
    } else if (unit >= 48 && unit <= 57) {
      const end = endOfNumber(text, at)
      const number = text.slice(at, end)
      if (!isExactNumber(number)) {
        if (bounds.inexact === "carry") carries = "carries"
        else if (bounds.inexact === undefined || Number(number) === Infinity) {
          const sign = text.charCodeAt(at - 1) === 45 ? "-" : ""
          return inexactNumber(sign + number, pathIn(text, at))
        }
      }
      at = end - 1
    }
  }
  return carries
}

/** Matches a JSON text that may have half of a surrogate pair as an escape. */
const surrogate_escape = /\\u[dD][89a-fA-F]/

/** The path to the first text or name with half of a surrogate pair; undefined = all are well-formed. */
const illFormedPath = (value: Json): Path | undefined => {
  if (typeof value === "string") return value.isWellFormed() ? undefined : []
  if (typeof value !== "object" || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    const path = name.isWellFormed() ? illFormedPath(member) : []
    if (path !== undefined) return [Array.isArray(value) ? Number(name) : name, ...path]
  }
  return undefined
}

/**
 * The reason to refuse a text that another program will parse. Undefined = parsing the text either gives a value within the
 * bounds, or fails. Texts with half of a surrogate pair are not looked for.
 */
export const jsonTextRefusal = (
  text: string,
  bounds: JsonBounds = bounds_default
): JsonRefused | undefined => {
  const refusal = text.length > bounds.units_max ? tooLong(bounds) : refusalOf(text, bounds)
  return refusal === "carries" ? undefined : refusal
}

const scalar_units_max = 200

const scalarAt = (text: string, from: number): string | number | undefined => {
  const unit = text.charCodeAt(from)
  if (unit === quote) {
    const end = endOfString(text, from)
    return end - from < scalar_units_max ? nameOf(text, from, end) : undefined
  }
  const number = /^-?\d{1,15}(?=[\s,}])/.exec(text.slice(from, from + 20))
  return number === null ? undefined : Number(number[0])
}

/**
 * The outermost object's members that are texts or numbers, by name, read without parsing the rest. It serves a text that is
 * refused for its size, so that the refusal can name the request it answers. Values longer than 200 characters are undefined.
 */
export const topLevelScalars = (text: string): ReadonlyMap<string, string | number | undefined> => {
  const found = new Map<string, string | number | undefined>()
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === quote) {
      const end = endOfString(text, at)
      const colon = skipWhitespace(text, end + 1)
      if (depth === 1 && text.charCodeAt(colon) === 58 && end - at < scalar_units_max) {
        const name = nameOf(text, at, end)
        if (name !== undefined) found.set(name, scalarAt(text, skipWhitespace(text, colon + 1)))
      }
      at = end
    } else if (unit === 123 || unit === 91) depth++
    else if (unit === 125 || unit === 93) depth--
  }
  return found
}

/**
 * Parses a JSON text. Refuses a text beyond the bounds; a number that a double cannot hold, and half of a surrogate pair, unless
 * the bounds carry them; and an object with two members of one name, because parsers disagree on which counts. A member
 * `__proto__` is an ordinary member.
 */
export const readJson = (
  text: string,
  bounds: JsonBounds = bounds_default
): Result.Result<Json, JsonRefused> => {
  if (text.length > bounds.units_max) return Result.fail(tooLong(bounds))
  const refusal = refusalOf(text, bounds)
  if (refusal instanceof JsonRefused) return Result.fail(refusal)
  const read = Result.try(
    () => (refusal === "carries" ? parseExactly(text) : JSON.parse(text)) as Json
  )
  if (Result.isFailure(read)) return Result.fail(notJson)
  if (bounds.inexact !== undefined) return Result.succeed(read.success)
  if (text.isWellFormed() && !surrogate_escape.test(text)) return Result.succeed(read.success)
  const path = illFormedPath(read.success)
  return path === undefined ? Result.succeed(read.success) : Result.fail(illFormed(path))
}

/** What is left of the bounds while a value is walked, and the place that the walk has reached. */
interface RemainingBounds {
  values: number
  units: number
  readonly path: Array<string | number>
}

/** Copies the value. Throws JsonRefused, which `readJsonValue` catches. */
const copyBounded = (
  value: unknown,
  depth: number,
  remaining: RemainingBounds,
  bounds: JsonBounds
): Json => {
  if (--remaining.values < 0) throw tooMany(bounds)
  switch (typeof value) {
    case "string":
      if ((remaining.units -= value.length) < 0) throw tooLong(bounds)
      if (bounds.inexact === undefined && !value.isWellFormed()) throw illFormed(remaining.path)
      return value
    case "boolean":
      return value
    case "number":
      if (!Number.isFinite(value)) {
        throw wrongAt(remaining.path, (place) => `the number${place} is not finite`)
      }
      return value
    case "object":
      break
    default:
      throw wrongAt(remaining.path, (place) => `the ${typeof value}${place} is not JSON`)
  }
  if (value === null) return null
  if (isRawNumber(value)) return carried(value, remaining.path, bounds)
  if (depth === bounds.depth_max) throw tooDeep(bounds)
  if (Array.isArray(value)) {
    if (value.length > remaining.values) throw tooMany(bounds)
    const items: Array<Json> = []
    for (let at = 0; at < value.length; at++) {
      remaining.path.push(at)
      items.push(copyBounded(value[at], depth + 1, remaining, bounds))
      remaining.path.pop()
    }
    return items
  }
  if (!isPlainObject(value)) {
    throw wrongAt(
      remaining.path,
      (place) => `the object of a class${place} is not JSON: give a plain object`
    )
  }
  const copy: Record<string, Json> = {}
  for (const name of Object.keys(value)) {
    const member = (value as Readonly<Record<string, unknown>>)[name]
    // An undefined member counts as absent, as in JSON.stringify.
    if (member === undefined) continue
    if ((remaining.units -= name.length) < 0) throw tooLong(bounds)
    remaining.path.push(name)
    if (bounds.inexact === undefined && !name.isWellFormed()) throw illFormed(remaining.path)
    const read = copyBounded(member, depth + 1, remaining, bounds)
    remaining.path.pop()
    if (name === "__proto__") define(copy, name, read)
    else copy[name] = read
  }
  return copy
}

/** A number that a program gave as its text (`JSON.rawJSON`): as a number, where one can hold it. */
const carried = ({ rawJSON }: RawNumber, path: Path, { inexact }: JsonBounds): Json => {
  const value = JSON.parse(rawJSON) as Json
  if (typeof value !== "number" || isExactNumber(rawJSON)) return value
  if (inexact !== "carry") throw inexactNumber(rawJSON, path)
  return parseExactly(rawJSON) as Json
}

/** Defines an own member. A plain assignment to `__proto__` would set the prototype. */
const define = (object: Record<string, Json>, name: string, value: Json): void => {
  Object.defineProperty(object, name, {
    value,
    configurable: true,
    enumerable: true,
    writable: true
  })
}

/**
 * A copy of a program's value as JSON. Each member is read once, and later changes of the given value do not reach the copy.
 * Refuses values that JSON cannot represent, and those beyond the bounds, such as cyclic ones.
 */
export const readJsonValue = (
  value: unknown,
  bounds: JsonBounds = bounds_default
): Result.Result<Json, JsonRefused> => {
  // Ids and other texts, which most values from outside are, need no copy.
  if (typeof value === "string" && bounds.values_max > 0) {
    if (value.length > bounds.units_max) return Result.fail(tooLong(bounds))
    return bounds.inexact !== undefined || value.isWellFormed()
      ? Result.succeed(value)
      : Result.fail(illFormed([]))
  }
  const { units_max: units, values_max: values } = bounds
  const remaining: RemainingBounds = { values, units, path: [] }
  const read = Result.try(() => copyBounded(value, 0, remaining, bounds))
  if (Result.isSuccess(read)) return Result.succeed(read.success)
  // A getter or a proxy may throw anything.
  const thrown = read.failure
  return Result.fail(thrown instanceof JsonRefused ? thrown : wrong("it cannot be read"))
}

/** Counts what copies have used. One object may be passed on from copy to copy. */
export interface CopyBudget {
  /** How many more values this copy may have. */
  values: number
  /** The approximate length of the JSON of all copies, in UTF-16 units. */
  units: number
}

/** The approximate length of the JSON of a number, boolean or null, in UTF-16 units. */
const units_per_value = 5

/**
 * Copies a value that a program claims to be JSON, in one walk that reads each member once (bench row `step`). Undefined = the
 * value nests deeper than `depth`, has more values than `budget` has left, or contains something that JSON cannot represent or
 * would alter: Infinity (such as a parsed 1e400), NaN, undefined (even as a member), a bigint, a symbol, a function, half of a
 * surrogate pair, a number as its text.
 */
export const copyWithin = (value: unknown, depth: number, budget: CopyBudget): Json | undefined => {
  if (--budget.values < 0) return undefined
  if (typeof value === "string") {
    budget.units += 2 + value.length
    return value.isWellFormed() ? value : undefined
  }
  if (typeof value !== "object" || value === null) {
    budget.units += units_per_value
    return isJsonScalar(value) ? (value as Json) : undefined
  }
  if (depth === 0 || isRawNumber(value)) return undefined
  budget.units += 2
  if (Array.isArray(value)) {
    const items: Array<Json> = []
    for (let at = 0; at < value.length; at++) {
      budget.units++
      const item = copyWithin(value[at], depth - 1, budget)
      if (item === undefined) return undefined
      items.push(item)
    }
    return items
  }
  // A spread copies every member, `__proto__` included, and is faster than assigning them one by one (bench row `step`).
  const copy: Record<string, Json> = { ...(value as Readonly<Record<string, Json>>) }
  for (const name in copy) {
    budget.units += 4 + name.length
    const member = copy[name]
    const own = copyWithin(member, depth - 1, budget)
    if (own === undefined || !name.isWellFormed()) return undefined
    if (own === member) continue
    if (name === "__proto__") define(copy, name, own)
    else copy[name] = own
  }
  return copy
}

/**
 * Whether a parsed or encoded value is within the bounds of depth and number of values. Walks objects and lists of any class
 * and stops at the first exceeded bound, so it ends on cyclic values too.
 */
export const isWithinBounds = (value: unknown, bounds: JsonBounds = bounds_result): boolean =>
  valuesLeft(value, bounds.depth_max, bounds.values_max) >= 0

/** How many of `values` remain after this value, which may nest `depth` deep; negative = it is not within the bounds. */
const valuesLeft = (value: unknown, depth: number, values: number): number => {
  let left = values - 1
  if (typeof value !== "object" || value === null) return left
  if (depth === 0) return -1
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at++) {
      left = valuesLeft(value[at], depth - 1, left)
    }
    return left
  }
  for (const name in value) {
    if (left < 0) return left
    left = valuesLeft((value as Readonly<Record<string, unknown>>)[name], depth - 1, left)
  }
  return left
}

const isJsonScalar = (value: unknown): boolean =>
  typeof value === "number"
    ? Number.isFinite(value)
    : typeof value === "string" || typeof value === "boolean" || value === null
