/**
 * The JSON Schema of a direct call's whole body, by which the assembled body is checked before anything is sent: the endpoint's
 * schema at the place of the arguments, with the fixed and bound fields beside it. And why a call can never be sent as it is set
 * up, in sentences for who has set it up: nobody supplies a field, or what is filled in does not fit.
 */
import type { BodyPath, JsonObject } from "./BodyPath.ts"
import { isJsonObject, isPrefix, leafPaths, listOf, memberOf } from "./BodyPath.ts"
import { definition_keywords, dereferenced } from "./SchemaReference.ts"
import { strippedSchema } from "./SchemaStrip.ts"
import type { Json } from "../value/Canonical.ts"
import { issueText, refusalText } from "../schema/SchemaIssues.ts"
import { jsonSchemaCheck } from "../tool/ToolCodec.ts"
import { bodyOfRequest, parameterPaths, sentPaths } from "./CallRequest.ts"
import { parametersOf } from "./CallTarget.ts"
import type { DirectRequest } from "./CallDescriptor.ts"
import { sendsBody } from "./CallDescriptor.ts"
import { Cause, Exit, Result, Schema } from "effect"

/** The schemas that a value has to fit at once: this one and those of its `allOf`. */
const schemasAtOnce = (schema: JsonObject, root: JsonObject): ReadonlyArray<JsonObject> => {
  const found = dereferenced(schema, root)
  return [
    found,
    ...listOf(found["allOf"]).flatMap((each) =>
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

const requiresPath = (schema: JsonObject, path: BodyPath): boolean => {
  let nodes: ReadonlyArray<JsonObject> = [schema]
  for (const name of path) {
    const all = nodes.flatMap((node) => schemasAtOnce(node, schema))
    if (!requiredOf(all).has(name)) return false
    nodes = propertiesOf(all, name)
  }
  return true
}

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

/** By its own type or by its branches. A schema inside itself, which is still being examined, decides nothing. */
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
    listOf(allOf).some(isOfBranch) ||
    [anyOf, oneOf].some((list) => listOf(list).length > 0 && listOf(list).every(isOfBranch))
  known.set(schema, takesNone)
  return takesNone
}

/** The beginning of a path up to the first value that cannot be an object, so that nothing can be filled in below it. */
const pathThroughNoObject = (schema: JsonObject, path: BodyPath): BodyPath | undefined => {
  let nodes: ReadonlyArray<JsonObject> = [schema]
  for (const [at, name] of path.entries()) {
    const all = nodes.flatMap((node) => schemasAtOnce(node, schema))
    if (all.some((each) => isNoObject(each, schema))) return path.slice(0, at)
    nodes = propertiesOf(all, name)
  }
  return undefined
}

export interface Suppliers {
  readonly model: JsonObject
  readonly args_into: BodyPath
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

/** Wraps a schema in objects along a path. Its definitions move to the top, where references look for them. */
const nested = (schema: JsonObject, path: BodyPath): JsonObject => {
  if (path.length === 0 && schema["$schema"] === undefined) return schema
  const { $defs, $schema: _, ...inner } = schema
  const whole = path.reduceRight<JsonObject>(
    (within, name) => ({ type: "object", properties: { [name]: within }, required: [name] }),
    inner
  )
  return $defs === undefined ? whole : { ...whole, $defs }
}

const withProperty = (schema: JsonObject, path: BodyPath, root: JsonObject): JsonObject => {
  const [name, ...rest] = path
  if (name === undefined) return schema
  const found = dereferenced(schema, root)
  const properties = isJsonObject(found["properties"]) ? found["properties"] : {}
  const member = memberOf(properties, name)
  const inner = isJsonObject(member) ? member : { type: "object" }
  return {
    ...found,
    type: "object",
    properties: { ...properties, [name]: rest.length === 0 ? {} : withProperty(inner, rest, root) }
  }
}

export interface RequestParts {
  /** The endpoint's schema of the arguments, with bound fields in it. */
  readonly schema: JsonObject
  readonly args_into: BodyPath
  readonly set: ReadonlyArray<BodyPath>
}

/** The schema of the assembled body, before the parameters of the path are taken out of it. */
export const assembledSchema = ({ args_into, schema, set }: RequestParts): JsonObject =>
  set.reduce(
    (whole, path) => (showsPath(whole, path) ? whole : withProperty(whole, path, whole)),
    nested(schema, args_into)
  )

/** Without what depends on other members too, such as `required`: if it refuses the fixed values, no arguments can help. */
export const fixedSchema = (request: JsonObject, fixed: JsonObject): JsonObject => {
  const within = (schema: JsonObject, values: JsonObject): JsonObject => {
    const { additionalProperties, patternProperties, properties, type } = dereferenced(
      schema,
      request
    )
    const shown = Object.entries(isJsonObject(properties) ? properties : {}).map(
      ([name, member]) => {
        const value = memberOf(values, name)
        if (value === undefined) return [name, {}]
        // An object may get further members from the arguments.
        const isOpen = isJsonObject(value) && isJsonObject(member)
        return [name, isOpen ? within(member, value) : member]
      }
    )
    return {
      ...(type === undefined ? undefined : { type }),
      properties: Object.fromEntries(shown) as JsonObject,
      ...(additionalProperties === false && patternProperties === undefined
        ? { additionalProperties }
        : undefined)
    }
  }
  const definitions = definition_keywords.flatMap((keyword) => {
    const found = request[keyword]
    return found === undefined ? [] : [[keyword, found]]
  })
  return { ...within(request, fixed), ...(Object.fromEntries(definitions) as JsonObject) }
}

/** The schema of the body as it is sent, without these parameters of the path and the query. */
export const sentSchema = (
  assembled: JsonObject,
  parameters: ReadonlyArray<BodyPath>
): JsonObject => strippedSchema(assembled, parameters)

/** Why a call without a body cannot have these parts; undefined = it can. */
export const queryProblem = (call: DirectRequest): string | undefined => {
  const { args_into, body = {}, context = {}, method, path } = call
  if (sendsBody(call)) return undefined
  if (args_into !== undefined) {
    return `${method} sends its arguments as a query and takes no args_into`
  }
  const fixed = Object.entries(bodyOfRequest(call, body)).find(
    ([, value]) => typeof value === "object"
  )
  const placed = [...parametersOf(path), ...sentPaths(call).map((field) => field.join("."))]
  const bound = Object.keys(context).find((text) => text.includes(".") && !placed.includes(text))
  const nested = fixed?.[0] ?? bound
  return nested === undefined
    ? undefined
    : `${method} sends its fields as a query, and "${nested}" is no scalar`
}

/** Why what is filled in would not be sent, where one field alone is the body; undefined = it is sent. */
export const contentProblem = (call: DirectRequest): string | undefined => {
  const { body = {}, content, context = {} } = call
  if (content === undefined || content === null || content.field === undefined) return undefined
  const field = content.field.split(".")
  const placed = [...parameterPaths(call.path), ...sentPaths(call), field]
  const filled = [...leafPaths(body), ...Object.keys(context).map((text) => text.split("."))]
  const lost = filled.find((path) => !placed.some((place) => isPrefix(place, path)))
  return lost === undefined
    ? undefined
    : `"${lost.join(".")}" is filled in, and the body is the field "${content.field}" alone`
}

/** Why the fixed body does not fit the endpoint's schema, so that no call could be sent; undefined = it fits. */
export const fixedProblem = (call: DirectRequest, request: JsonObject): string | undefined => {
  if (call.body === undefined) return undefined
  const fixed = bodyOfRequest(call, call.body)
  const check = jsonSchemaCheck(fixedSchema(request, fixed))
  const checked = Result.isSuccess(check) ? check.success(fixed) : undefined
  if (checked === undefined || Exit.isSuccess(checked)) return undefined
  const error = Cause.squash(checked.cause)
  const problem = Schema.isSchemaError(error) ? issueText(error) : refusalText(error)
  return `what it always sends does not fit the endpoint's schema: ${problem}`
}

/** Something on the way to one of these paths is not an object. Undefined = all can be filled in. */
export const placeProblem = (
  schema: JsonObject,
  paths: ReadonlyArray<BodyPath>
): string | undefined => {
  for (const path of paths) {
    const at = pathThroughNoObject(schema, path)
    if (at === undefined) continue
    const place = at.length === 0 ? "the whole body" : `"${at.join(".")}"`
    return `"${path.join(".")}" is filled in, but ${place} is no object in the endpoint's schema`
  }
  return undefined
}
