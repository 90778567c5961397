/**
 * JSON Schemas of plain values, from which a check can be made for certain: they have no keyword and no combination of
 * keywords that could be refused. Their checks may be made when they are first needed.
 */
import { isObject } from "../value/PlainObject.ts"
import { isCount, types } from "./SchemaShape.ts"

const isScalar = (value: unknown): boolean =>
  value === null ||
  typeof value === "string" ||
  typeof value === "boolean" ||
  (typeof value === "number" && Number.isFinite(value))

/** By keyword, whether a value of it leaves the schema plain. */
const keywords: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["type", (value: unknown) => types.has(value)],
  ["properties", (value: unknown) => isObject(value) && Object.values(value).every(isPlainSchema)],
  ["items", (value: unknown) => isPlainSchema(value)],
  ["additionalProperties", (value: unknown) => typeof value === "boolean"],
  [
    "required",
    (value: unknown) => Array.isArray(value) && value.every((name) => typeof name === "string")
  ],
  ["enum", (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isScalar)],
  ["const", isScalar],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].map(
    (name) => [name, (value: unknown) => Number.isFinite(value)] as const
  ),
  ...["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"].map(
    (name) => [name, isCount] as const
  ),
  ...[
    "title",
    "description",
    "format",
    "default",
    "example",
    "examples",
    "deprecated",
    "$comment"
  ].map((name) => [name, () => true] as const)
])

/** Can a check of this schema be made for certain? False where that is not known without trying. */
export const isPlainSchema = (schema: unknown): boolean => {
  if (!isObject(schema) || !types.has(schema["type"])) return false
  for (const name of Object.keys(schema)) {
    if (keywords.get(name)?.(schema[name]) !== true) return false
  }
  return true
}
