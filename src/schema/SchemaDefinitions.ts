/**
 * Definitions of a JSON Schema, which may refer to themselves: which of them a schema needs, and whether a value can be checked
 * with them within bounds. Even a few short definitions can make a check endless, or longer than anybody waits.
 */
import { JsonPointer } from "effect"
import { isObject } from "../value/PlainObject.ts"

type JsonObject = Readonly<Record<string, unknown>>

export const definitions_at = "#/$defs/"

/** Keywords whose subschemas apply to the same value. */
const same_value = ["allOf", "anyOf", "oneOf"]
/** Keywords whose subschemas apply to members or items independent of their names. */
const any_member = ["items", "additionalProperties", "prefixItems", "patternProperties"]

/** The greatest number of definitions that one value may have to fit at once, and the longest chain of them. */
const same_value_max = 1_000
const chain_max = 100
/** How many schemas are examined at most to find how often members are checked. */
const looks_max = 200_000
/** The greatest total number of checks for a value whose checks are multiplied by several branches. */
const checks_max = 20_000

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/**
 * The name of the definition to which a schema refers, decoded as the check itself decodes it (`%41` is `A`); undefined = it
 * refers to none.
 */
export const definitionOf = (schema: unknown): string | undefined => {
  const reference = isObject(schema) ? schema["$ref"] : undefined
  const path = typeof reference === "string" ? JsonPointer.parseUriFragment(reference) : undefined
  return path?.[0] === "$defs" && path.length === 2 ? path[1] : undefined
}

const branchesOf = (schema: JsonObject): ReadonlyArray<unknown> =>
  same_value.flatMap((keyword) => listOf(schema[keyword]))

/** The definitions that a schema's value itself has to fit, as opposed to values inside it. */
const sameValue = (schema: unknown): ReadonlyArray<string> => {
  if (!isObject(schema)) return []
  const name = definitionOf(schema)
  return [...(name === undefined ? [] : [name]), ...branchesOf(schema).flatMap(sameValue)]
}

/**
 * Why definitions cannot be used for checks. `endless`: one requires the same value to fit it again, forever. `large`: a value
 * would have to fit more than 1,000 of them. Undefined = they can.
 */
export const checkDefinitions = (definitions: JsonObject): "endless" | "large" | undefined => {
  /** How many definitions a value of each definition has to fit; Infinity while it is being counted. */
  const counts = new Map<string, number>()
  let deepest = 0
  const countOf = (name: string, depth: number): number => {
    const known = counts.get(name)
    if (known !== undefined) return known
    deepest = Math.max(deepest, depth)
    if (depth > chain_max) return 0
    counts.set(name, Infinity)
    let count = 1
    for (const each of sameValue(definitions[name])) count += countOf(each, depth + 1)
    counts.set(name, count)
    return count
  }
  let most = 0
  for (const name of Object.keys(definitions)) most = Math.max(most, countOf(name, 0))
  if (most === Infinity) return "endless"
  return most > same_value_max || deepest > chain_max ? "large" : undefined
}

const mentioned = (schema: unknown): ReadonlyArray<string> => {
  if (Array.isArray(schema)) return schema.flatMap(mentioned)
  if (!isObject(schema)) return []
  const name = definitionOf(schema)
  return [...(name === undefined ? [] : [name]), ...Object.values(schema).flatMap(mentioned)]
}

/** The definitions that a schema needs, directly or through others. */
export const neededDefinitions = <A>(
  schema: unknown,
  definitions: Readonly<Record<string, A>>
): Readonly<Record<string, A>> => {
  const needed = new Set(mentioned(schema))
  // What one needs is met by the loop too.
  for (const name of needed) for (const each of mentioned(definitions[name])) needed.add(each)
  return Object.fromEntries(Object.entries(definitions).filter(([name]) => needed.has(name)))
}

/** How often the check of one value of a definition checks each of its members with definitions, by the member's place. */
const timesOf = (
  schema: unknown,
  definitions: JsonObject,
  looks: { left: number }
): ReadonlyMap<string, number> => {
  const times = new Map<string, number>()
  const look = (at: unknown, place: string): void => {
    if (!isObject(at) || --looks.left < 0) return
    const name = definitionOf(at)
    if (name !== undefined && place === "") look(definitions[name], place)
    else if (name !== undefined) times.set(place, (times.get(place) ?? 0) + 1)
    for (const each of branchesOf(at)) look(each, place)
    for (const [member, each] of Object.entries(isObject(at["properties"]) ? at["properties"] : {}))
      look(each, `${place}/${member.replaceAll("/", "~1")}`)
    for (const keyword of any_member) {
      const found = at[keyword]
      const all = keyword === "patternProperties" && isObject(found) ? Object.values(found) : found
      for (const each of Array.isArray(all) ? all : [all]) look(each, `${place}/*`)
    }
  }
  look(schema, "")
  return times
}

/**
 * How deep a value may be for its check to end in time: where a schema refers to itself in several branches, each level of a
 * value multiplies the checks. Infinity = there are no such branches; 0 = it cannot be determined. Call it only if
 * `checkDefinitions` found no fault.
 */
export const valueDepthMax = (definitions: JsonObject): number => {
  const looks = { left: looks_max }
  let growth = 1
  for (const schema of Object.values(definitions)) {
    const times = timesOf(schema, definitions, looks)
    for (const [place, count] of times) {
      const others = place.endsWith("/*") ? 0 : (times.get(place.replace(/[^/]*$/, "*")) ?? 0)
      growth = Math.max(growth, (count + others) ** (1 / (place.split("/").length - 1)))
    }
  }
  if (looks.left < 0) return 0
  return growth === 1 ? Infinity : Math.floor(Math.log(checks_max) / Math.log(growth))
}

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
