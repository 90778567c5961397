/**
 * Makes the JSON Schema of a direct call's whole body, by which the assembled body is checked before anything is sent. It has the
 * endpoint's schema at the place of the arguments, with the fixed and bound fields beside it.
 */
import type { BodyPath, JsonObject } from "./BodyPath.ts"
import { isJsonObject, memberOf } from "./BodyPath.ts"
import { definition_keywords, dereferenced } from "./SchemaReference.ts"
import { strippedSchema } from "./SchemaStrip.ts"
import { showsPath } from "./SuppliedFields.ts"

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

/** Adds a property at a path. Any value fits it. */
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
  /** The paths of fixed and bound fields. */
  readonly set: ReadonlyArray<BodyPath>
}

/** The schema of the assembled body, before the parameters of the path are taken out of it. */
export const assembledSchema = ({ args_into, schema, set }: RequestParts): JsonObject =>
  set.reduce(
    (whole, path) => (showsPath(whole, path) ? whole : withProperty(whole, path, whole)),
    nested(schema, args_into)
  )

/**
 * The part of a body's schema that depends on its fixed values alone. What depends on other members too, such as `required` and
 * branches, is left out. So if this schema refuses the fixed values, no arguments can help.
 */
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
