/**
 * Makes the JSON Schema that a model is shown for a call: the endpoint's schema without the fields that others fill in, wherever
 * it names them. The result may be less strict than the endpoint's schema, by which the assembled body is checked later.
 */
import type { Json } from "../value/Canonical.ts"
import type { BodyPath, JsonObject } from "./BodyPath.ts"
import { isJsonObject, memberOf, valueAt, withoutValueAt } from "./BodyPath.ts"
import {
  branches,
  dereferenced,
  subschemas,
  withoutUnusedDefinitions,
  withOwnCopy
} from "./SchemaReference.ts"

/** Where a removal is in the document `root`. `above` has the schemas of the same value on the way, so that a circle ends. */
interface Place {
  readonly root: JsonObject
  readonly path: BodyPath
  readonly above: ReadonlyArray<JsonObject>
}

const without = (schema: JsonObject, ...names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)))

/** Changes each member; undefined removes it. Returns the same object if nothing changed. */
const mapped = (
  members: JsonObject,
  change: (member: Json, name: string) => Json | undefined
): JsonObject => {
  const entries = Object.entries(members).flatMap(([name, member]) => {
    const changed = change(member, name)
    return changed === undefined ? [] : [[name, changed] as const]
  })
  const isSame =
    entries.length === Object.keys(members).length &&
    entries.every(([name, member]) => member === members[name])
  return isSame ? members : Object.fromEntries(entries)
}

/** Sets the value of a keyword. Returns the same schema if it has that value already. */
const withKeyword = (schema: JsonObject, keyword: string, value: Json): JsonObject =>
  schema[keyword] === value ? schema : { ...schema, [keyword]: value }

const mappedList = (
  list: ReadonlyArray<Json>,
  change: (each: Json) => Json
): ReadonlyArray<Json> => {
  const changed = list.map(change)
  return changed.every((each, index) => each === list[index]) ? list : changed
}

const withoutName = (names: Json, name: string): Json => {
  if (!Array.isArray(names) || !names.includes(name)) return names
  return names.filter((each: Json) => each !== name)
}

/** Whether a schema has lost all of its properties and has nothing left that a model could give. */
const isHollow = (schema: JsonObject): boolean => {
  const { additionalProperties, patternProperties, properties } = schema
  return (
    isJsonObject(properties) &&
    Object.keys(properties).length === 0 &&
    patternProperties === undefined &&
    (additionalProperties === undefined || additionalProperties === false) &&
    !branches.some((keyword) => schema[keyword] !== undefined)
  )
}

const also = (schema: JsonObject, further: JsonObject): JsonObject => {
  const { allOf } = schema
  return {
    ...schema,
    allOf: [...(Array.isArray(allOf) ? (allOf as ReadonlyArray<Json>) : []), further]
  }
}

const strippedBranches = (schema: JsonObject, place: Place): JsonObject => {
  let left = schema
  for (const keyword of branches) {
    const list = left[keyword]
    if (!Array.isArray(list)) continue
    const each = mappedList(list, (one) => strippedPart(one, place))
    if (each === list) continue
    // Without the field that distinguishes them, several branches of `oneOf` may fit, so it becomes `anyOf`.
    left =
      keyword === "oneOf"
        ? also(without(left, keyword), { anyOf: each })
        : { ...left, [keyword]: each }
  }
  return left
}

/** Whoever fills the field in decides a condition about it: the model may follow either side, and a `not` about it is removed. */
const strippedConditions = (schema: JsonObject, place: Place): JsonObject => {
  const { else: otherwise = true, if: condition, not, then = true } = schema
  const isDecided = (each: Json | undefined) =>
    each !== undefined && strippedPart(each, place) !== each
  const left = isDecided(not) ? without(schema, "not") : schema
  if (isDecided(condition)) {
    const sides = [then, otherwise].map((side) => strippedPart(side, place))
    return also(without(left, "if", "then", "else"), { anyOf: sides })
  }
  return mapped(left, (side, keyword) =>
    keyword === "then" || keyword === "else" ? strippedPart(side, place) : side
  )
}

const strippedDependents = (schema: JsonObject, place: Place): JsonObject => {
  const { dependentRequired, dependentSchemas } = schema
  const [name, ...rest] = place.path
  const isField = (key: string) => rest.length === 0 && key === name
  let left = schema
  if (isJsonObject(dependentSchemas)) {
    const kept = mapped(dependentSchemas, (each, key) =>
      isField(key) ? undefined : strippedPart(each, place)
    )
    left = withKeyword(left, "dependentSchemas", kept)
  }
  if (isJsonObject(dependentRequired) && name !== undefined && rest.length === 0) {
    const kept = mapped(dependentRequired, (names, key) =>
      isField(key) ? undefined : withoutName(names, name)
    )
    left = withKeyword(left, "dependentRequired", kept)
  }
  return left
}

/** A `default` and examples lose the field; a `const` or `enum` that contains it is removed. */
const strippedData = (schema: JsonObject, { path }: Place): JsonObject => {
  const has = (value: Json): boolean => valueAt(value, path) !== undefined
  const lost = (value: Json): Json =>
    isJsonObject(value) && has(value) ? withoutValueAt(value, path) : value
  return mapped(schema, (value, keyword) => {
    switch (keyword) {
      case "const":
        return has(value) ? undefined : value
      case "enum":
        return Array.isArray(value) && value.some(has) ? undefined : value
      case "default":
      case "example":
        return lost(value)
      case "examples":
        return Array.isArray(value) ? (mappedList(value, lost) as Json) : value
      default:
        return value
    }
  })
}

/** A `propertyNames` schema without one of the names that it lists; undefined = it lists no other name. */
const namesWithout = (names: Json, name: string): Json | undefined => {
  if (!isJsonObject(names)) return names
  const { const: only, enum: listed } = names
  if (only === name) return undefined
  const left = listed === undefined ? listed : withoutName(listed, name)
  if (left === undefined || left === listed) return names
  return Array.isArray(left) && left.length === 0 ? undefined : { ...names, enum: left }
}

/** Also removes a `required` that becomes empty, and `minProperties`, because it counts the property too. */
const withoutProperty = (schema: JsonObject, name: string): JsonObject => {
  const isDeclared = memberOf(schema["properties"], name) !== undefined
  return mapped(schema, (value, keyword) => {
    switch (keyword) {
      case "properties":
        return isJsonObject(value) && isDeclared ? without(value, name) : value
      case "required": {
        const left = withoutName(value, name)
        return Array.isArray(left) && left.length === 0 && left !== value ? undefined : left
      }
      case "minProperties":
        return undefined
      case "propertyNames":
        return namesWithout(value, name)
      default:
        return value
    }
  })
}

const strippedMember = (schema: JsonObject, { path, root }: Place): JsonObject => {
  const [name, ...rest] = path
  if (name === undefined) return schema
  if (rest.length === 0) return withoutProperty(schema, name)
  const { properties } = schema
  const member = memberOf(properties, name)
  if (!isJsonObject(properties) || !isJsonObject(member)) return schema
  const inner = strip(member, { root, path: rest, above: [] })
  if (inner === member) return schema
  const had = memberOf(dereferenced(member, root), "properties")
  const lost = isJsonObject(had) && Object.keys(had).length > 0 && isHollow(inner)
  return lost
    ? withoutProperty(schema, name)
    : { ...schema, properties: { ...properties, [name]: inner } }
}

const strippedPart = (schema: Json, place: Place): Json =>
  isJsonObject(schema) ? strip(schema, place) : schema

/** Removes the field at a path from a schema. Returns the same schema if it does not mention the path. */
const strip = (schema: JsonObject, { above, path, root }: Place): JsonObject => {
  if (path.length === 0 || above.includes(schema)) return schema
  const place = { root, path, above: [...above, schema] }
  const found = dereferenced(schema, root)
  let left = strippedBranches(found, place)
  left = strippedConditions(left, place)
  left = strippedDependents(left, place)
  left = strippedData(left, place)
  left = strippedMember(left, place)
  return left === found ? schema : left
}

/**
 * The schema without the fields at these paths. Other fields of the same name stay, and a closed object stays closed. An object
 * that loses its last property is removed too, and so is a definition that nothing refers to any more. The given schema is not
 * changed; it is returned itself if it has none of the fields.
 */
export const strippedSchema = (schema: JsonObject, paths: ReadonlyArray<BodyPath>): JsonObject => {
  if (paths.length === 0) return schema
  const root = withOwnCopy(schema)
  const left = paths.reduce((shown, path) => strip(shown, { root: shown, path, above: [] }), root)
  return left === root ? schema : withoutUnusedDefinitions(left)
}

/** How many schemas are examined for one field at most. With more of them, a schema is larger than any model can read. */
const schemas_max = 10_000

/**
 * Why a field cannot be taken out of a schema: a reference on the way that cannot be followed (for instance into another
 * document), a reference that leads back to itself, or too many schemas on the way. Undefined = it can. Call it before
 * `strippedSchema`.
 */
export const stripProblem = (schema: JsonObject, field: BodyPath): string | undefined => {
  const root = withOwnCopy(schema)
  let left = schemas_max
  const walk = ({ above, path, schema: given }: Step): string | undefined => {
    const [name, ...rest] = path
    if (name === undefined) return undefined
    if (left-- === 0) return `it has over ${schemas_max} schemas that could say something of it`
    if (above.includes(given)) return "a reference leads back to itself"
    const found = dereferenced(given, root)
    const hidden = [found["$ref"], found["$dynamicRef"]].find((each) => typeof each === "string")
    if (hidden !== undefined) return `nothing is known of what its reference ${hidden} names`
    const member = memberOf(found["properties"], name)
    const inner = isJsonObject(member) ? walk({ schema: member, path: rest, above: [] }) : undefined
    if (inner !== undefined) return inner
    for (const each of subschemas(found)) {
      const problem = walk({ schema: each, path, above: [...above, given] })
      if (problem !== undefined) return problem
    }
    return undefined
  }
  return walk({ schema: root, path: field, above: [] })
}

interface Step {
  readonly schema: JsonObject
  readonly path: BodyPath
  readonly above: ReadonlyArray<JsonObject>
}
