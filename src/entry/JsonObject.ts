/**
 * The schema of JSON objects whose members nobody names in advance, such as JSON Schemas. A value is walked once; a record of
 * JSON values has a parser look at each member, in three times as long (bench row `calls`).
 */
import { Schema } from "effect"

const isObject = (value: Schema.Json): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const JsonObject = Schema.Json.pipe(
  Schema.refine(isObject, {
    expected: "a JSON object",
    toJsonSchema: () => ({ type: "object" })
  })
)
