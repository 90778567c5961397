/**
 * Checks that a JSON Schema in a configuration is well-formed JSON Schema 2020-12. A keyword whose value has another type would
 * be ignored, and with it a bound on which its author relies.
 */
import { truncateUnits } from "../value/CutText.ts"
import { isObject } from "../value/PlainObject.ts"

type JsonObject = Readonly<Record<string, unknown>>

const isText = (value: unknown): boolean => typeof value === "string"
const isFlag = (value: unknown): boolean => typeof value === "boolean"
const isNumber = (value: unknown): boolean => typeof value === "number"
export const isCount = (value: unknown): boolean =>
  Number.isSafeInteger(value) && Number(value) >= 0

/** The values that `type` may have. */
export const types = new Set<unknown>([
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

/** Keywords whose values contain no schemas. */
const plain: ReadonlyMap<string, Kind> = new Map(
  Object.entries<Kind>({
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
  })
)
const schemas = new Set(["items", "additionalProperties", "propertyNames"])
const lists = new Set(["allOf", "anyOf", "oneOf", "prefixItems"])
const maps = new Set(["properties", "patternProperties", "$defs"])

interface Fault {
  /** The path to the fault, from the outermost name. */
  readonly path: ReadonlyArray<string>
  readonly expected: string
}

const faultBelow = (name: string, fault: Fault | undefined): Fault | undefined =>
  fault === undefined ? undefined : { ...fault, path: [name, ...fault.path] }

/** The first fault of schemas in a list or an object. */
const faultAmong = (all: object): Fault | undefined => {
  for (const key of Object.keys(all)) {
    const found = faultIn((all as JsonObject)[key])
    if (found !== undefined) return faultBelow(key, found)
  }
  return undefined
}

const faultAt = (name: string, value: unknown): Fault | undefined => {
  const kind = plain.get(name)
  if (kind !== undefined)
    return kind.fits(value) ? undefined : { path: [], expected: kind.expected }
  if (schemas.has(name)) return faultIn(value)
  if (lists.has(name)) {
    const isList = Array.isArray(value) && value.length > 0
    return isList ? faultAmong(value) : { path: [], expected: "a list of schemas" }
  }
  if (!maps.has(name)) return undefined
  return isObject(value) ? faultAmong(value) : { path: [], expected: "an object of schemas" }
}

const faultIn = (schema: unknown): Fault | undefined => {
  if (typeof schema === "boolean") return undefined
  if (!isObject(schema)) return { path: [], expected: "a schema" }
  for (const name of Object.keys(schema)) {
    const found = faultAt(name, schema[name])
    if (found !== undefined) return faultBelow(name, found)
  }
  return undefined
}

/** The first invalid keyword, with its place, such as `properties.a.type: expected ...`; undefined = there is none. */
export const schemaFault = (schema: unknown): string | undefined => {
  const fault = faultIn(schema)
  if (fault === undefined) return undefined
  const at = fault.path.map((part) => truncateUnits(part, 64)).join(".")
  return `${at === "" ? "" : `${at}: `}expected ${fault.expected}`
}

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
