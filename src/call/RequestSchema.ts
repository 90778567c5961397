/**
 * JSON Schema of the whole body of a direct call, by which the merged body is checked before anything is sent: that of the
 * endpoint, at the place of the arguments, with the fixed and bound fields beside it.
 */
import type { BodyPath, JsonObject } from "./BodyPath.ts"
import { isJsonObject, memberOf } from "./BodyPath.ts"
import { definition_keywords, dereferenced } from "./SchemaReference.ts"
import { strippedSchema } from "./SchemaStrip.ts"
import { showsPath } from "./SuppliedFields.ts"

/** A schema of objects that lead to this one. Its definitions move to the top, where references look for them. */
const nested = (schema: JsonObject, path: BodyPath): JsonObject => {
  if (path.length === 0 && schema["$schema"] === undefined) return schema
  const { $defs, $schema: _, ...inner } = schema
  const whole = path.reduceRight<JsonObject>(
    (within, name) => ({ type: "object", properties: { [name]: within }, required: [name] }),
    inner
  )
  return $defs === undefined ? whole : { ...whole, $defs }
}

/** The schema with a property at the path that may be anything. */
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

/** The schema of the body with the parameters of the path in it. */
export const assembledSchema = ({ args_into, schema, set }: RequestParts): JsonObject =>
  set.reduce(
    (whole, path) => (showsPath(whole, path) ? whole : withProperty(whole, path, whole)),
    nested(schema, args_into)
  )

/**
 * What the schema of a body says of its fixed values, whatever stands beside them. What depends on other members, such as
 * `required` and branches, is left out: what this refuses, no arguments can make good.
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

/** The schema of the body as it is sent, without the parameters of the path. */
export const sentSchema = (
  assembled: JsonObject,
  parameters: ReadonlyArray<BodyPath>
): JsonObject => strippedSchema(assembled, parameters)
