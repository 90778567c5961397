/**
 * Finds the fields that an endpoint requires and nobody supplies: neither the model, nor the fixed body, nor the run's context.
 */
import type { Json } from "../value/Canonical.ts"
import type { BodyPath, JsonObject } from "./BodyPath.ts"
import { isJsonObject, isPrefix, memberOf } from "./BodyPath.ts"
import { dereferenced } from "./SchemaReference.ts"

const schemasIn = (list: Json | undefined): ReadonlyArray<Json> =>
  Array.isArray(list) ? (list as ReadonlyArray<Json>) : []

/** The schemas that a value has to fit at once: this one and those of its `allOf`. */
const schemasAtOnce = (schema: JsonObject, root: JsonObject): ReadonlyArray<JsonObject> => {
  const found = dereferenced(schema, root)
  return [
    found,
    ...schemasIn(found["allOf"]).flatMap((each) =>
      isJsonObject(each) ? [dereferenced(each, root)] : []
    )
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

/** Whether every value that fits the schema has a value at this path. */
const requiresPath = (schema: JsonObject, path: BodyPath): boolean => {
  let nodes: ReadonlyArray<JsonObject> = [schema]
  for (const name of path) {
    const all = nodes.flatMap((node) => schemasAtOnce(node, schema))
    if (!requiredOf(all).has(name)) return false
    nodes = propertiesOf(all, name)
  }
  return true
}

/** Whether the schema declares a property at this path. */
export const showsPath = (schema: JsonObject, path: BodyPath): boolean => {
  let nodes: ReadonlyArray<JsonObject> = [schema]
  for (const name of path) {
    nodes = propertiesOf(
      nodes.flatMap((node) => schemasAtOnce(node, schema)),
      name
    )
    if (nodes.length === 0) return false
  }
  return true
}

/**
 * Whether no object fits the schema, by its own type or by its branches. A schema inside itself, which is still being examined,
 * decides nothing.
 */
const isNoObject = (
  schema: JsonObject,
  root: JsonObject,
  known = new Map<JsonObject, boolean>()
): boolean => {
  const before = known.get(schema)
  if (before !== undefined) return before
  known.set(schema, false)
  const { allOf, anyOf, oneOf, type } = dereferenced(schema, root)
  const isOfBranch = (each: Json) => isJsonObject(each) && isNoObject(each, root, known)
  const takesNone =
    (type !== undefined &&
      type !== "object" &&
      !(Array.isArray(type) && type.includes("object"))) ||
    schemasIn(allOf).some(isOfBranch) ||
    [anyOf, oneOf].some((list) => schemasIn(list).length > 0 && schemasIn(list).every(isOfBranch))
  known.set(schema, takesNone)
  return takesNone
}

/**
 * The beginning of a path, up to the first value that cannot be an object (a list, for instance), so that nothing can be filled
 * in below it; undefined = there is no such value.
 */
export const pathThroughNoObject = (schema: JsonObject, path: BodyPath): BodyPath | undefined => {
  let nodes: ReadonlyArray<JsonObject> = [schema]
  for (const [at, name] of path.entries()) {
    const all = nodes.flatMap((node) => schemasAtOnce(node, schema))
    if (all.some((each) => isNoObject(each, schema))) return path.slice(0, at)
    nodes = propertiesOf(all, name)
  }
  return undefined
}

/** Who supplies the fields of a body. */
export interface Suppliers {
  /** The schema that the model is shown. */
  readonly model: JsonObject
  /** Where the model's arguments are placed. */
  readonly args_into: BodyPath
  /** The paths of fixed and bound fields. */
  readonly set: ReadonlyArray<BodyPath>
}

/** Whether there is always a value at the path: it is set there, above it or below it, or required of the model. */
export const isSupplied = ({ args_into, model, set }: Suppliers, path: BodyPath): boolean =>
  set.some((each) => isPrefix(each, path) || isPrefix(path, each)) ||
  isPrefix(path, args_into) ||
  (isPrefix(args_into, path) && requiresPath(model, path.slice(args_into.length)))

/** How deep schemas are examined. This ends the walk of a schema that refers to itself. */
const depth_max = 32

/** The required fields of an endpoint's schema that nobody supplies, as dotted paths. */
export const unsuppliedFields = (
  request: JsonObject,
  suppliers: Suppliers
): ReadonlyArray<string> => {
  // The model is shown the whole schema, so everything that it requires is required of the model.
  if (suppliers.model === request && suppliers.args_into.length === 0) return []
  const filled = [...suppliers.set, suppliers.args_into]
  /** The members at a path that are always there, because something is filled in below them. */
  const always = (at: BodyPath): ReadonlyArray<string> =>
    filled.flatMap((path) =>
      path.length > at.length && isPrefix(at, path) ? [path[at.length] ?? ""] : []
    )
  const walk = (schemas: ReadonlyArray<JsonObject>, at: BodyPath): ReadonlyArray<string> => {
    if (at.length > depth_max) return []
    const all = schemas.flatMap((schema) => schemasAtOnce(schema, request))
    return [...new Set([...requiredOf(all), ...always(at)])].flatMap((name) => {
      const path = [...at, name]
      // The whole object is a fixed or bound field, so its members are not examined.
      if (suppliers.set.some((each) => isPrefix(each, path))) return []
      return isSupplied(suppliers, path) ? walk(propertiesOf(all, name), path) : [path.join(".")]
    })
  }
  return walk([request], [])
}
