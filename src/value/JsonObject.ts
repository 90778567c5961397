/**
 * The schema for JSON objects with arbitrary members, such as JSON Schemas. It walks a value once; a record of JSON values would
 * run a parser for each member, which takes three times as long (bench row `calls`).
 */
import { Schema } from "effect"
import { isObject, isPlainObject } from "./PlainObject.ts"
import { bounds_default } from "./BoundedJson.ts"

export const JsonObject = Schema.Json.pipe(
  Schema.refine(isObject<Schema.Json>, {
    expected: "a JSON object",
    toJsonSchema: () => ({ type: "object" })
  })
)

/**
 * How many of `left` values remain after this one, which may nest `depth` deep. Negative = there are more values, it is deeper,
 * or it is not plain JSON.
 */
const plainLeft = (value: unknown, depth: number, left: number): number => {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return left - 1
  if (typeof value === "number") return Number.isFinite(value) ? left - 1 : -1
  if (typeof value !== "object" || depth === 0) return -1
  let rest = left - 1
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && rest >= 0; at++) {
      rest = plainLeft(value[at], depth - 1, rest)
    }
    return rest
  }
  if (!isPlainObject(value)) return -1
  for (const name of Object.keys(value)) {
    rest = plainLeft((value as Readonly<Record<string, unknown>>)[name], depth - 1, rest)
    if (rest < 0) return rest
  }
  return rest
}

const isLargeJson = Schema.is(Schema.Json)

/** Whether the value is JSON. `Schema.Json` decides what the quick walk cannot, such as a cyclic value. */
const isJson = (value: unknown): value is Schema.Json =>
  plainLeft(value, bounds_default.depth_max, bounds_default.values_max) >= 0 || isLargeJson(value)

const isJsonObject = (value: unknown): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && isJson(value)

/**
 * `Schema.Json` as a check on any value. A struct that contains `Schema.Json` is never compiled, and each of its members has a
 * parser that is run on its own; one that contains this is decoded by one compiled function (bench rows `answers`, `calls`).
 */
export const CheckedJson = Schema.Unknown.pipe(Schema.refine(isJson, { expected: "a JSON value" }))

/** As `CheckedJson`, in the place of a record of JSON values. */
export const CheckedJsonRecord = Schema.Record(Schema.String, Schema.Unknown).pipe(
  Schema.refine(isJsonObject, { expected: "an object of JSON values" })
)

/** As `CheckedJson`, in the place of `JsonObject`. It has no JSON Schema of its own. */
export const CheckedJsonObject = Schema.Unknown.pipe(
  Schema.refine(isJsonObject, { expected: "a JSON object" })
)
