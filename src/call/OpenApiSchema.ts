/**
 * Converts Schema Objects of OpenAPI 3.0 and 3.1, whose references were written out, into JSON Schema 2020-12 for what a client
 * sends.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import { inUnicodeMode } from "../schema/PatternSyntax.ts"
import { linearPattern } from "../schema/LinearPattern.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject, listOf, memberOf } from "./BodyPath.ts"
import type { Dialect } from "./OpenApiDocument.ts"
import { definitions_at } from "../schema/SchemaDefinitions.ts"
import { definitions_place } from "./OpenApiReference.ts"

const schemas = new Set(["items", "additionalProperties", "propertyNames"])
const lists = new Set(["allOf", "anyOf", "oneOf", "prefixItems"])
const maps = new Set(["properties", "patternProperties"])
const types = new Set(["string", "number", "integer", "boolean", "object", "array", "null"])
/** Not in JSON Schema 2020-12, no constraint of the value itself, or nothing that the runtime can check: left to the endpoint. */
const dropped = new Set([
  "nullable",
  "readOnly",
  "writeOnly",
  "$schema",
  "$id",
  "$anchor",
  "$comment",
  "$defs",
  "definitions",
  "if",
  "then",
  "else",
  "not",
  "contains",
  "minContains",
  "maxContains",
  "dependentRequired",
  "dependentSchemas",
  "unevaluatedItems",
  "unevaluatedProperties"
])

/** Converts the boolean bounds of OpenAPI 3.0 into the numeric ones of 2020-12. */
const withBounds = (schema: JsonObject): JsonObject => {
  let changed = schema
  for (const [exclusive, inclusive] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"]
  ] as const) {
    const { [exclusive]: flag, [inclusive]: bound, ...rest } = changed
    if (typeof flag !== "boolean") continue
    changed = bound === undefined ? rest : { ...rest, [flag ? exclusive : inclusive]: bound }
  }
  return changed
}

/** By OpenAPI 3.0 `nullable` counts only beside a type. It is applied beside a reference too, because authors mean it there. */
const withNull = (schema: JsonObject): JsonObject => {
  const { const: only, enum: values, type } = schema
  if (typeof type === "string") {
    const choices = Array.isArray(values) && !values.includes(null) ? [...values, null] : values
    return {
      ...schema,
      type: [type, "null"],
      ...(choices === undefined ? undefined : { enum: choices })
    }
  }
  if (type !== undefined || only === null || Object.keys(schema).length === 0) return schema
  const { description, ...rest } = schema
  return {
    ...(description === undefined ? undefined : { description }),
    anyOf: [rest, { type: "null" }]
  }
}

/** Removes the `readOnly` properties, which only answers have, and their names from `required`. */
const withoutAnswers = (schema: JsonObject): JsonObject => {
  const { properties, required, ...rest } = schema
  if (!isJsonObject(properties)) return schema
  const isSent = ([, property]: readonly [string, Json]): boolean =>
    memberOf(property, "readOnly") !== true
  const sent = Object.entries(properties).filter(isSent)
  const names = listOf(required).filter(
    (name) =>
      typeof name === "string" &&
      (!Object.hasOwn(properties, name) || sent.some(([each]) => each === name))
  )
  return {
    ...rest,
    properties: Object.fromEntries(sent),
    ...(names.length === 0 ? undefined : { required: names })
  }
}

const isType = (value: Json): boolean => typeof value === "string" && types.has(value)

/** Whether a pattern can be checked: it runs in linear time, and has a form for Unicode mode. */
const isPattern = (value: Json): boolean =>
  typeof value === "string" &&
  Result.isSuccess(linearPattern(value)) &&
  Result.isSuccess(Result.try(() => new RegExp(inUnicodeMode(value), "u")))

const isObjectValue = (value: Json): boolean => typeof value === "object" && value !== null

/** Also a type that JSON does not have, a pattern, an enumeration or an `additionalProperties` that cannot be checked. */
const isLeftOut = (name: string, value: Json, { properties }: JsonObject): boolean => {
  switch (name) {
    case "type":
      return !(Array.isArray(value) ? value.every(isType) : isType(value))
    case "pattern":
      return !isPattern(value)
    case "enum":
      return listOf(value).some(isObjectValue)
    case "const":
      return isObjectValue(value)
    case "additionalProperties":
      return isJsonObject(value) && isJsonObject(properties) && Object.keys(properties).length > 0
    default:
      return dropped.has(name)
  }
}

const converted = (value: Json, dialect: Dialect): Json => {
  if (!isJsonObject(value)) return value
  const each = (member: Json): Json => converted(member, dialect)
  const members = Object.entries(withoutAnswers(value)).flatMap(
    ([name, member]): Array<readonly [string, Json]> => {
      if (isLeftOut(name, member, value)) return []
      if (name === "pattern") return [[name, inUnicodeMode(String(member))]]
      if (name === "$ref" && typeof member === "string") {
        return [[name, member.replace(definitions_place, definitions_at)]]
      }
      if (schemas.has(name)) return [[name, each(member)]]
      if (lists.has(name)) return [[name, listOf(member).map(each)]]
      if (!maps.has(name) || !isJsonObject(member)) return [[name, member]]
      const all = Object.entries(member).map(([key, inner]) => [key, each(inner)] as const)
      return [[name, Object.fromEntries(all)]]
    }
  )
  const schema: JsonObject = Object.fromEntries(members)
  if (dialect === "3.1") return schema
  const bounded = withBounds(schema)
  return value["nullable"] === true ? withNull(bounded) : bounded
}

/** Converts a schema to JSON Schema 2020-12. A value that is not an object becomes `{}`, which every value fits. */
export const schema2020 = (schema: Json | undefined, dialect: Dialect): JsonObject => {
  const found = converted(schema ?? {}, dialect)
  return isJsonObject(found) ? found : {}
}

const isScalarType = (type: Json | undefined): boolean =>
  type === "string" || type === "number" || type === "integer" || type === "boolean"

/** Whether the schema allows only texts, numbers and booleans, and perhaps null. */
export const isScalarSchema = (schema: Json): boolean => {
  if (!isJsonObject(schema)) return false
  const { allOf, anyOf, const: only, enum: values, oneOf, type } = schema
  if (typeof type === "string") return isScalarType(type)
  if (Array.isArray(type)) {
    return (
      type.some(isScalarType) && type.every((each: Json) => each === "null" || isScalarType(each))
    )
  }
  if (only !== undefined) return typeof only !== "object"
  if (Array.isArray(values))
    return values.every((each: Json) => each === null || typeof each !== "object")
  if (Array.isArray(allOf)) return allOf.some(isScalarSchema)
  const union = [...listOf(anyOf), ...listOf(oneOf)].filter(
    (each) => memberOf(each, "type") !== "null"
  )
  return union.length > 0 && union.every(isScalarSchema)
}

const is_union = ["allOf", "anyOf", "oneOf"]

/** Whether a schema does not say what kind of value fits it. */
export const isUntyped = (schema: Json | undefined): boolean =>
  schema === true ||
  (isJsonObject(schema) &&
    ["$ref", "const", "enum", "items", "properties", "type", ...is_union].every(
      (keyword) => schema[keyword] === undefined
    ))

const isPlainValue = (schema: Json): boolean => isUntyped(schema) || isScalarSchema(schema)

const isFlatObject = ({ additionalProperties, properties }: JsonObject): boolean =>
  Object.values(isJsonObject(properties) ? properties : {}).every(isPlainValue) &&
  (additionalProperties === undefined ||
    additionalProperties === false ||
    isPlainValue(additionalProperties))

/** Only plain values, lists of them, and objects with such members, as far as it says: most styles have no form for others. */
export const isFlatSchema = (schema: Json): boolean => {
  if (isPlainValue(schema)) return true
  if (!isJsonObject(schema)) return false
  const { allOf, anyOf, items, oneOf, type } = schema
  if (type !== undefined) {
    return (Array.isArray(type) ? (type as ReadonlyArray<Json>) : [type]).every(
      (each) =>
        each === "null" ||
        isScalarType(each) ||
        (each === "array" ? isPlainValue(items ?? true) : isFlatObject(schema))
    )
  }
  if (items !== undefined) return isPlainValue(items)
  if (schema["properties"] !== undefined) return isFlatObject(schema)
  if (Array.isArray(allOf)) return allOf.every(isFlatSchema)
  const union = [...listOf(anyOf), ...listOf(oneOf)]
  return (
    union.length > 0 &&
    union.every((each) => memberOf(each, "type") === "null" || isFlatSchema(each))
  )
}

const text_type = /^text\/|[/+](?:json|xml|yaml|csv|javascript|graphql|sql)$/i

/** Files are bytes, which no argument of a model can be. Bytes that are written as a text, such as Base64, are a text. */
export const isFileSchema = (schema: Json | undefined): boolean => {
  if (!isJsonObject(schema)) return false
  const { contentEncoding, contentMediaType, format, items } = schema
  if (format === "binary") return true
  if (typeof contentMediaType === "string" && contentEncoding === undefined) {
    return !text_type.test(contentMediaType)
  }
  return (
    isFileSchema(items) || is_union.some((keyword) => listOf(schema[keyword]).some(isFileSchema))
  )
}
