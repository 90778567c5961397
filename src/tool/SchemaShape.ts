/**
 * Whether a JSON Schema of a configuration is written as JSON Schema 2020-12 has it. A keyword with a value of another kind
 * would be passed over, and with it a bound that its author believes in.
 */
import { truncateUnits } from "../CutText.ts"

type JsonObject = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const isText = (value: unknown): boolean => typeof value === "string"
const isFlag = (value: unknown): boolean => typeof value === "boolean"
const isNumber = (value: unknown): boolean => typeof value === "number"
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0

const types = new Set<unknown>([
  "string",
  "number",
  "integer",
  "boolean",
  "object",
  "array",
  "null"
])
const isType = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0 &&
      new Set(value).size === value.length &&
      value.every((one) => types.has(one))
    : types.has(value)
const isNames = (value: unknown): boolean => Array.isArray(value) && value.every(isText)

interface Kind {
  readonly expected: string
  readonly fits: (value: unknown) => boolean
}
const text: Kind = { expected: "a text", fits: isText }
const flag: Kind = { expected: "true or false", fits: isFlag }
const number: Kind = { expected: "a number", fits: isNumber }
const count: Kind = { expected: "a whole number from 0 on", fits: isCount }

/** Keywords whose values hold no schemas. */
const plain: Readonly<Record<string, Kind>> = {
  type: { expected: `one of ${[...types].join(", ")}, or a list of them`, fits: isType },
  required: { expected: "a list of names", fits: isNames },
  enum: { expected: "a list of values", fits: Array.isArray },
  multipleOf: {
    expected: "a number above 0",
    fits: (value) => isNumber(value) && Number(value) > 0
  },
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minProperties: count,
  maxProperties: count,
  uniqueItems: flag,
  pattern: text,
  format: text,
  title: text,
  description: text,
  $ref: text
}
const schemas = new Set(["items", "additionalProperties", "propertyNames"])
const lists = new Set(["allOf", "anyOf", "oneOf", "prefixItems"])
const maps = new Set(["properties", "patternProperties", "$defs"])

/** The first keyword that cannot be right, with its place, such as `properties.a.type: expected ...`; undefined = none. */
export const schemaFault = (
  schema: unknown,
  place: ReadonlyArray<string> = []
): string | undefined => {
  const fault = (path: ReadonlyArray<string>, expected: string) =>
    [path.map((part) => truncateUnits(part, 64)).join("."), `expected ${expected}`]
      .filter((part) => part !== "")
      .join(": ")
  if (typeof schema === "boolean") return undefined
  if (!isObject(schema)) return fault(place, "a schema")
  for (const [name, value] of Object.entries(schema)) {
    const at = [...place, name]
    const kind = Object.hasOwn(plain, name) ? plain[name] : undefined
    if (kind !== undefined && !kind.fits(value)) return fault(at, kind.expected)
    if (schemas.has(name)) {
      const found = schemaFault(value, at)
      if (found !== undefined) return found
    }
    if (!lists.has(name) && !maps.has(name)) continue
    if (lists.has(name) && !(Array.isArray(value) && value.length > 0)) {
      return fault(at, "a list of schemas")
    }
    if (maps.has(name) && !isObject(value)) return fault(at, "an object of schemas")
    for (const [key, inner] of Object.entries(value as object)) {
      const found = schemaFault(inner, [...at, key])
      if (found !== undefined) return found
    }
  }
  return undefined
}
