/**
 * Turns the schema of a request's body into one plain object. Providers refuse a tool whose schema is a union or an intersection
 * at its top. Therefore the members of all parts are in one object, and the endpoint decides which of them may be combined.
 */
import type { Json } from "../value/Canonical.ts"
import { definitionOf } from "../schema/SchemaDefinitions.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject, memberOf } from "./BodyPath.ts"
import { listOf } from "./OpenApiSchema.ts"

export interface ObjectParts {
  readonly properties: JsonObject
  readonly required: ReadonlyArray<string>
  /** `additionalProperties`; undefined = the schema does not have it. */
  readonly others: Json | undefined
}

/** The properties of several parts. Different schemas of one property are combined by `keyword`. */
const joined = (keyword: "allOf" | "anyOf", all: ReadonlyArray<ObjectParts>): JsonObject => {
  const found = new Map<string, Map<string, Json>>()
  for (const { properties } of all) {
    for (const [name, schema] of Object.entries(properties)) {
      const each = found.get(name) ?? new Map<string, Json>()
      found.set(name, each.set(JSON.stringify(schema), schema))
    }
  }
  return Object.fromEntries(
    [...found].map(([name, each]) => {
      const [first = {}, ...more] = each.values()
      return [name, more.length === 0 ? first : { [keyword]: [first, ...more] }] as const
    })
  )
}

/**
 * The `additionalProperties` of several parts. Only parts with properties or `additionalProperties` count. The result is that of
 * a single part; of several, false if all are closed, and otherwise undefined.
 */
const othersOf = (all: ReadonlyArray<ObjectParts>): Json | undefined => {
  const telling = all.filter(
    ({ others, properties }) => others !== undefined || Object.keys(properties).length > 0
  )
  const [first, ...more] = telling
  if (more.length === 0) return first?.others
  return telling.every(({ others }) => others === false) ? false : undefined
}

const withAll = (all: ReadonlyArray<ObjectParts>): ObjectParts => ({
  properties: joined("allOf", all),
  required: [...new Set(all.flatMap(({ required }) => required))],
  others: othersOf(all)
})

const withOne = (all: ReadonlyArray<ObjectParts>): ObjectParts => ({
  properties: joined("anyOf", all),
  required: (all[0]?.required ?? []).filter((name) =>
    all.every(({ required }) => required.includes(name))
  ),
  others: othersOf(all)
})

/** What a schema says about objects; undefined = no object fits it. Call it only if `checkDefinitions` found no fault. */
export const objectParts = (schema: Json, definitions: JsonObject): ObjectParts | undefined => {
  const known = new Map<string, ObjectParts | undefined>()
  const partsOf = (given: Json): ObjectParts | undefined => {
    if (given === true) return { properties: {}, required: [], others: undefined }
    if (!isJsonObject(given)) return undefined
    const name = definitionOf(given)
    if (name === undefined) return ownParts(given, partsOf)
    // Many references may lead to one definition, and from there to others, so each definition is examined once.
    if (!known.has(name)) known.set(name, partsOf(memberOf(definitions, name) ?? true))
    return known.get(name)
  }
  return partsOf(schema)
}

const ownParts = (
  schema: JsonObject,
  partsOf: (schema: Json) => ObjectParts | undefined
): ObjectParts | undefined => {
  const { additionalProperties, allOf, anyOf, oneOf, required, type } = schema
  if (type !== undefined && !(Array.isArray(type) ? type : [type]).includes("object"))
    return undefined
  const properties = memberOf(schema, "properties")
  const own: ObjectParts = {
    properties: isJsonObject(properties) ? properties : {},
    required: listOf(required).filter((name): name is string => typeof name === "string"),
    others: additionalProperties
  }
  const parts = [own]
  for (const each of listOf(allOf)) {
    const part = partsOf(each)
    if (part === undefined) return undefined
    parts.push(part)
  }
  for (const union of [anyOf, oneOf]) {
    if (union === undefined) continue
    const some = listOf(union).flatMap((each) => partsOf(each) ?? [])
    if (some.length === 0) return undefined
    parts.push(withOne(some))
  }
  return parts.length === 1 ? own : withAll(parts)
}
