/**
 * The JSON Schema that a model is shown of a call: that of the endpoint without the fields that others fill in. And the
 * check that every field which an endpoint requires is supplied by the model, the fixed body or the run's context.
 */
import type { Json } from "../Canonical.ts"
import type { BodyPath, JsonObject } from "./BodyPath.ts"
import { isJsonObject, isPrefix, memberOf } from "./BodyPath.ts"

/** Keywords whose values are further schemas of the same value. */
const branches = ["allOf", "anyOf", "oneOf"]
/** References that lead to references, before they count as none. */
const references_max = 16

const pointerPath = (reference: string): BodyPath | undefined =>
  reference.startsWith("#/")
    ? reference
        .slice(2)
        .split("/")
        .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    : undefined

/** The schema with the local reference at its top replaced by what it names; members beside it stay. */
export const dereferenced = (schema: JsonObject, root: JsonObject): JsonObject => {
  let found = schema
  for (let left = references_max; left > 0; left--) {
    const { $ref, ...beside } = found
    const path = typeof $ref === "string" ? pointerPath($ref) : undefined
    if (path === undefined) return found
    let named: Json | undefined = root
    for (const part of path) named = memberOf(named, part)
    if (!isJsonObject(named)) return found
    found = { ...named, ...beside }
  }
  return found
}

const withoutName = (required: Json | undefined, name: string): ReadonlyArray<Json> =>
  Array.isArray(required) ? required.filter((each) => each !== name) : []

/** Sets `properties` and `required`; an empty `required` is left out. */
const withMembers = (
  schema: JsonObject,
  properties: JsonObject,
  required: ReadonlyArray<Json> | undefined
): JsonObject => {
  const { required: _, ...others } = schema
  return {
    ...others,
    properties,
    ...(required === undefined || required.length === 0 ? undefined : { required })
  }
}

/** Has it lost all of its properties, with nothing left that a model could give? */
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

const strippedBranches = (schema: JsonObject, path: BodyPath, root: JsonObject): JsonObject => {
  const changed = branches.flatMap((keyword) => {
    const list = schema[keyword]
    if (!Array.isArray(list)) return []
    const each = list.map((one: Json) => (isJsonObject(one) ? strip(one, path, root) : one))
    return [[keyword, each] as const]
  })
  return changed.length === 0 ? schema : { ...schema, ...Object.fromEntries(changed) }
}

const strip = (schema: JsonObject, path: BodyPath, root: JsonObject): JsonObject => {
  const [name, ...rest] = path
  if (name === undefined) return schema
  const found = strippedBranches(dereferenced(schema, root), path, root)
  const { properties, required } = found
  if (!isJsonObject(properties)) {
    return required === undefined || rest.length > 0
      ? found
      : withRequired(found, withoutName(required, name))
  }
  const member = memberOf(properties, name)
  const { [name]: _, ...others } = properties
  const gone = () => withMembers(found, others, withoutName(required, name))
  if (rest.length === 0) return gone()
  if (!isJsonObject(member)) return found
  const inner = strip(member, rest, root)
  const had = memberOf(dereferenced(member, root), "properties")
  const lost = isJsonObject(had) && Object.keys(had).length > 0 && isHollow(inner)
  if (lost) return gone()
  return { ...found, properties: { ...properties, [name]: inner } }
}

const withRequired = (schema: JsonObject, required: ReadonlyArray<Json>): JsonObject => {
  const { required: _, ...others } = schema
  return required.length === 0 ? others : { ...others, required }
}

/**
 * The schema without the fields at these paths. Everything else stays: other fields of the same name, other constraints,
 * whether the object is closed. An object that loses its last property goes with it. The source is not changed.
 */
export const strippedSchema = (schema: JsonObject, paths: ReadonlyArray<BodyPath>): JsonObject =>
  paths.reduce((shown, path) => strip(shown, path, shown), schema)

/** All schemas that hold for a value of this one at once: it, and what `allOf` adds. */
const together = (schema: JsonObject, root: JsonObject): ReadonlyArray<JsonObject> => {
  const found = dereferenced(schema, root)
  const { allOf } = found
  return [
    found,
    ...(Array.isArray(allOf)
      ? allOf.flatMap((each: Json) => (isJsonObject(each) ? [dereferenced(each, root)] : []))
      : [])
  ]
}

const requiredOf = (schemas: ReadonlyArray<JsonObject>): ReadonlySet<string> =>
  new Set(
    schemas.flatMap(({ required }) =>
      Array.isArray(required)
        ? required.filter((name: Json): name is string => typeof name === "string")
        : []
    )
  )

const propertiesOf = (
  schemas: ReadonlyArray<JsonObject>,
  name: string
): ReadonlyArray<JsonObject> =>
  schemas.flatMap((schema) => {
    const member = memberOf(schema["properties"], name)
    return isJsonObject(member) ? [member] : []
  })

/** Does a schema oblige whoever follows it to give a value at this path? */
const requiresPath = (schema: JsonObject, path: BodyPath): boolean => {
  let nodes: ReadonlyArray<JsonObject> = [schema]
  for (const name of path) {
    const all = nodes.flatMap((node) => together(node, schema))
    if (!requiredOf(all).has(name)) return false
    nodes = propertiesOf(all, name)
  }
  return true
}

/** Does a schema show a property at this path? */
export const showsPath = (schema: JsonObject, path: BodyPath): boolean => {
  let nodes: ReadonlyArray<JsonObject> = [schema]
  for (const name of path) {
    nodes = propertiesOf(
      nodes.flatMap((node) => together(node, schema)),
      name
    )
    if (nodes.length === 0) return false
  }
  return true
}

/** Who fills the fields of a body in. */
export interface Suppliers {
  /** What the model is shown. */
  readonly model: JsonObject
  /** Where its arguments are placed. */
  readonly args_into: BodyPath
  /** The paths of fixed and bound fields. */
  readonly set: ReadonlyArray<BodyPath>
}

/** Is there always a value at the path: set there, above it or below it, or demanded from the model? */
export const isSupplied = ({ args_into, model, set }: Suppliers, path: BodyPath): boolean =>
  set.some((each) => isPrefix(each, path) || isPrefix(path, each)) ||
  isPrefix(path, args_into) ||
  (isPrefix(args_into, path) && requiresPath(model, path.slice(args_into.length)))

/** Schemas within schemas that are walked, before a schema that refers to itself ends the walk. */
const depth_max = 32

/** The required fields of an endpoint's schema that nobody supplies, as dotted paths. */
export const unsuppliedFields = (
  request: JsonObject,
  suppliers: Suppliers
): ReadonlyArray<string> => {
  const walk = (schemas: ReadonlyArray<JsonObject>, at: BodyPath): ReadonlyArray<string> => {
    if (at.length > depth_max) return []
    const all = schemas.flatMap((schema) => together(schema, request))
    return [...requiredOf(all)].flatMap((name) => {
      const path = [...at, name]
      // A fixed or bound field that is the whole object: its own members are not looked at.
      if (suppliers.set.some((each) => isPrefix(each, path))) return []
      return isSupplied(suppliers, path) ? walk(propertiesOf(all, name), path) : [path.join(".")]
    })
  }
  return walk([request], [])
}
