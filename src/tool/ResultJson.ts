/**
 * What a body returned as JSON, where no schema says how. Nothing is lost or altered without a trace, because the body has run:
 *
 * - members that are undefined, functions or symbols are left out, and are null in a list, as in JSON.stringify;
 * - `toJSON` is asked: a `Date` and a `URL` are texts;
 * - a bigint is a text of its digits; NaN, Infinity and -Infinity are texts, because JSON has no such numbers;
 * - a `Map` is an object if its keys are texts, else a list of pairs; a `Set` is a list; bytes are base64;
 * - an `Error` is its name and message; any other object is its own enumerable members;
 * - a number made by JSON.rawJSON stays as it was written.
 *
 * A value that contains itself, is deeper than `depth_max`, or cannot be read is refused with its place; so is a promise, which
 * somebody forgot to await. A text of it says so in its place: the receipt of a write is never lost.
 */
import { Result } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import { bounds_result, depth_max } from "../value/BoundedJson.ts"
import { isRawNumber } from "../value/JsonText.ts"
import { ValueRefused } from "../schema/SchemaIssues.ts"

interface Walk {
  values: number
  readonly path: Array<string>
  /** The objects around the value, each at the place in the path that it has. */
  readonly around: Array<object>
  /** True = what is no JSON is said in its place and not refused. */
  readonly says: boolean
}

const segment_max = 64
/** How many names of a path are shown from each of its ends. */
const segments_shown = 8

const placeOf = (path: ReadonlyArray<string>): string => {
  const parts = path.map((part) => truncateUnits(part, segment_max))
  if (parts.length <= 2 * segments_shown) return parts.join(".")
  return [...parts.slice(0, segments_shown), "…", ...parts.slice(-segments_shown)].join(".")
}

const refuse = ({ path, says }: Walk, problem: string): string => {
  if (says) return `[${problem}]`
  const where = path.length === 0 ? "the result" : `the result's member ${placeOf(path)}`
  throw new ValueRefused({ message: `${where} is no JSON: ${problem}`, path: [...path] })
}

/** What the circle is that closes here: a member that is one of the objects around it. */
const circleOf = ({ around, path }: Walk, value: object): string | undefined => {
  const at = around.indexOf(value)
  if (at < 0) return undefined
  return at === 0
    ? "it is the result itself"
    : `it is ${placeOf(path.slice(0, at))}, which contains it`
}

/** Base64 without the help of a runtime, a piece at a time: a call has a bounded number of arguments. */
const base64 = (bytes: Uint8Array): string => {
  let binary = ""
  for (let at = 0; at < bytes.length; at += 8_192) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 8_192))
  }
  return btoa(binary)
}

const bytesOf = (value: object): Uint8Array | undefined =>
  value instanceof ArrayBuffer
    ? new Uint8Array(value)
    : value instanceof Uint8Array || value instanceof Uint8ClampedArray || value instanceof DataView
      ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
      : undefined

const boxed: ReadonlySet<string> = new Set([
  "[object Number]",
  "[object String]",
  "[object Boolean]"
])

/** What the object stands for: another value, or the members of an object. */
const standsFor = (value: object, walk: Walk): unknown => {
  const bytes = bytesOf(value)
  if (bytes !== undefined) return base64(bytes)
  if (boxed.has(Object.prototype.toString.call(value))) return value.valueOf()
  if (value instanceof Promise) return refuse(walk, "it is a promise, which has to be awaited")
  if (value instanceof Error) return { name: value.name, message: value.message }
  if (value instanceof RegExp) return String(value)
  if (value instanceof Set || ArrayBuffer.isView(value)) {
    return Array.from(value as unknown as Iterable<unknown>)
  }
  if (value instanceof Map) {
    const entries = [...(value as Map<unknown, unknown>)]
    const isNamed = entries.every(([key]) => typeof key === "string")
    return isNamed ? Object.fromEntries(entries as Array<[string, unknown]>) : entries
  }
  return value
}

const unreadable = "[it cannot be read]"

const memberOf = (of: object, name: string, says: boolean): unknown => {
  const read = () => (of as Readonly<Record<string, unknown>>)[name]
  return says ? Result.getOrElse(Result.try(read), () => unreadable) : read()
}

/** The value, or what is said of it where a getter or a method of it throws anything. */
const walked = (given: unknown, name: string, depth: number, walk: Walk): unknown => {
  if (!walk.says) return walkedInto(given, name, depth, walk)
  const { length } = walk.around
  const deep = walk.path.length
  const read = Result.try(() => walkedInto(given, name, depth, walk))
  walk.around.length = length
  walk.path.length = deep
  return Result.getOrElse(read, () => unreadable)
}

const walkedInto = (given: unknown, name: string, depth: number, walk: Walk): unknown => {
  if (--walk.values < 0) return refuse(walk, "it has too many values")
  let value = given
  if (typeof value === "object" && value !== null && !isRawNumber(value) && !bytesOf(value)) {
    const { toJSON } = value as { readonly toJSON?: unknown }
    if (typeof toJSON === "function") value = toJSON.call(value, name)
  }
  switch (typeof value) {
    case "bigint":
      return String(value)
    case "number":
      return Number.isFinite(value) ? value : String(value)
    case "object":
      break
    case "function":
    case "symbol":
      return undefined
    default:
      return value
  }
  if (value === null || isRawNumber(value)) return value
  const plain = standsFor(value, walk)
  if (typeof plain !== "object" || plain === null) return plain
  const circle = circleOf(walk, value)
  if (circle !== undefined) return refuse(walk, circle)
  if (depth === 0) return refuse(walk, `it nests deeper than ${depth_max}`)
  const below = (member: unknown, name: string): unknown => {
    walk.path.push(name)
    const json = walked(member, name, depth - 1, walk)
    walk.path.pop()
    return json
  }
  walk.around.push(value)
  const json = Array.isArray(plain)
    ? Array.from(plain, (item, at) => below(item, String(at)) ?? null)
    : Object.fromEntries(
        Object.keys(plain).flatMap((name) => {
          const json = below(memberOf(plain, name, walk.says), name)
          return json === undefined ? [] : [[name, json] as const]
        })
      )
  walk.around.pop()
  return json
}

/** The value as JSON; undefined = there is none, as of a function. Fails with the place of what is none. */
export const resultJson = (value: unknown): Result.Result<unknown, ValueRefused> => {
  const walk: Walk = { values: bounds_result.values_max, path: [], around: [], says: false }
  return Result.mapError(
    Result.try(() => walked(value, "", depth_max, walk)),
    (thrown) =>
      thrown instanceof ValueRefused
        ? thrown
        : // A getter or toJSON may throw anything.
          new ValueRefused({ message: "the result cannot be read", path: [...walk.path] })
  )
}

/** How many values of a receipt are read at most: it shows the beginning. */
const receipt_values_max = 10_000

/** The value as a text of JSON that says in its place what is no JSON. */
export const receiptText = (value: unknown): string => {
  const walk: Walk = { values: receipt_values_max, path: [], around: [], says: true }
  return JSON.stringify(walked(value, "", depth_max, walk)) ?? "nothing"
}
