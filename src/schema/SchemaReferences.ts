/**
 * References of a JSON Schema to places of its own. Checks are made from schemas that refer to `$defs` alone, and libraries also
 * write `#` for a schema that contains itself, `#/definitions/Name` and `#/properties/name`.
 */
import { JsonPointer } from "effect"
import { isObject } from "../value/PlainObject.ts"
import { definitionOf, definitions_at } from "./SchemaDefinitions.ts"

type JsonObject = Readonly<Record<string, unknown>>

/** Keywords whose values are data, and no schemas. */
const data: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "example"])

const valueAt = (schema: unknown, path: ReadonlyArray<string>): unknown => {
  let value = schema
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as JsonObject)[name]
  }
  return value
}

/** The same schema, whose references to its own places are references to definitions. One to no place stays as it is. */
export const withDefinitions = (schema: JsonObject): JsonObject => {
  const { $defs, ...root } = schema
  const definitions = new Map<string, unknown>(Object.entries(isObject($defs) ? $defs : {}))
  const names = new Map<string, string>()
  const nameOf = (path: ReadonlyArray<string>): string | undefined => {
    const target = path.length === 0 ? root : valueAt(schema, path)
    if (!isObject(target) && typeof target !== "boolean") return undefined
    const place = path.join("/")
    const known = names.get(place)
    if (known !== undefined) return known
    let name = `at_${place.replace(/[^A-Za-z0-9]+/g, "_")}`
    while (definitions.has(name)) name += "_"
    names.set(place, name)
    definitions.set(name, undefined)
    definitions.set(name, rewritten(target))
    return name
  }
  const rewritten = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewritten)
    if (!isObject(value)) return value
    const members = Object.entries(value).map(([name, member]) => [
      name,
      data.has(name) ? member : rewritten(member)
    ])
    const same = Object.fromEntries(members) as JsonObject
    const { $ref } = value
    if (typeof $ref !== "string" || definitionOf(value) !== undefined) return same
    const path = JsonPointer.parseUriFragment($ref)
    const name = path === undefined ? undefined : nameOf(path)
    return name === undefined ? same : { ...same, $ref: definitions_at + name }
  }
  const top = rewritten(root) as JsonObject
  for (const [name, definition] of Object.entries(isObject($defs) ? $defs : {})) {
    definitions.set(name, rewritten(definition))
  }
  return definitions.size === 0 ? top : { ...top, $defs: Object.fromEntries(definitions) }
}
