/**
 * Follows the references of a JSON Schema inside its own document, and finds the schemas that apply to the same value.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import type { BodyPath, JsonObject } from "./BodyPath.ts"
import { isJsonObject, listOf, memberOf } from "./BodyPath.ts"

/** Keywords whose values are lists of further schemas for the same value. */
export const branches = ["allOf", "anyOf", "oneOf"]
/** Keywords of definitions. No field is taken out of a definition, because other places may refer to it too. */
export const definition_keywords = ["$defs", "definitions"]
/** Keywords whose values are data and not schemas. */
export const data_keywords: ReadonlySet<string> = new Set([
  "const",
  "default",
  "enum",
  "example",
  "examples"
])
const references_max = 16

const decodedPart = (part: string): string =>
  Result.getOrElse(
    Result.try(() => decodeURIComponent(part)),
    () => part
  )
    .replaceAll("~1", "/")
    .replaceAll("~0", "~")

const pointerPath = (reference: string): BodyPath | undefined => {
  if (reference === "#") return []
  return reference.startsWith("#/") ? reference.slice(2).split("/").map(decodedPart) : undefined
}

const anchored = (reference: string, root: JsonObject): Json | undefined =>
  definition_keywords
    .flatMap((keyword) => Object.values(isJsonObject(root[keyword]) ? root[keyword] : {}))
    .find((each) => memberOf(each, "$anchor") === reference.slice(1))

const named = (reference: string, root: JsonObject): Json | undefined => {
  const path = pointerPath(reference)
  if (path === undefined) return reference.startsWith("#") ? anchored(reference, root) : undefined
  let found: Json | undefined = root
  for (const part of path) {
    // A number is an index into a list, as in `#/anyOf/0`.
    found = Array.isArray(found)
      ? (found as ReadonlyArray<Json>)[Number(part)]
      : memberOf(found, part)
  }
  return found
}

/** What the reference at the top of a schema names, with the members beside it. One that names no object stays. */
export const dereferenced = (schema: JsonObject, root: JsonObject): JsonObject => {
  let found = schema
  for (let left = references_max; left > 0; left--) {
    const { $ref, ...beside } = found
    const target = typeof $ref === "string" ? named($ref, root) : undefined
    if (!isJsonObject(target)) return found
    const { $anchor: _, ...copied } = target
    found = { ...copied, ...beside }
  }
  return found
}

/** All schemas in this one that are about the same value, whether it has to fit them or not. */
export const subschemas = (schema: JsonObject): ReadonlyArray<JsonObject> => {
  const { dependentSchemas, else: otherwise, if: condition, not, then } = schema
  return [
    ...branches.flatMap((keyword) => listOf(schema[keyword])),
    condition,
    then,
    otherwise,
    not,
    ...(isJsonObject(dependentSchemas) ? Object.values(dependentSchemas) : [])
  ].filter(isJsonObject)
}

const isLocal = (reference: Json | undefined): reference is string =>
  typeof reference === "string" && reference.startsWith("#")

/** Adds the local references of all schemas in a value. There are none in data (`data_keywords`). */
const collectReferences = (value: Json, into: Array<string>): void => {
  if (Array.isArray(value)) {
    for (const each of value as ReadonlyArray<Json>) collectReferences(each, into)
  } else if (isJsonObject(value)) {
    if (isLocal(value["$ref"])) into.push(value["$ref"])
    for (const [name, each] of Object.entries(value)) {
      if (!data_keywords.has(name)) collectReferences(each, into)
    }
  }
}

/** Whether a value may have references. Most schemas have none, and then nothing is collected (bench row `calls`). */
const mayRefer = (value: Json): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (Array.isArray(value)) return value.some(mayRefer)
  for (const name in value) {
    if (name === "$ref" || mayRefer((value as JsonObject)[name] ?? null)) return true
  }
  return false
}

const referencesIn = (schema: Json): ReadonlyArray<string> => {
  if (!mayRefer(schema)) return []
  const found: Array<string> = []
  collectReferences(schema, found)
  return found
}

const withReferences = (value: Json, change: (reference: string) => string): Json => {
  if (Array.isArray(value)) {
    return (value as ReadonlyArray<Json>).map((each) => withReferences(each, change))
  }
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      if (name === "$ref" && isLocal(each)) return [name, change(each)]
      return [name, data_keywords.has(name) ? each : withReferences(each, change)]
    })
  )
}

/** Whether a reference names a place outside the definitions, which a change of the schema could remove. */
const isOutside = (reference: string): boolean => {
  const path = pointerPath(reference)
  return path !== undefined && !definition_keywords.includes(path[0] ?? "")
}

const freshName = (schema: JsonObject): string => {
  let name = "Whole"
  while (memberOf(schema["$defs"], name) !== undefined) name += "_"
  return name
}

/** All local references lead to definitions: one to the whole or to a part of it leads to a copy of that among them. */
export const withOwnCopy = (schema: JsonObject): JsonObject => {
  if (!referencesIn(schema).some(isOutside)) return schema
  const name = freshName(schema)
  const changed = withReferences(schema, (reference) =>
    isOutside(reference) ? `#/$defs/${name}${reference.slice(1)}` : reference
  ) as JsonObject
  const { $defs, $schema: _, definitions: _old, ...body } = changed
  return { ...changed, $defs: { ...(isJsonObject($defs) ? $defs : {}), [name]: body } }
}

/** The schema without the definitions that nothing refers to. */
export const withoutUnusedDefinitions = (schema: JsonObject): JsonObject => {
  if (!definition_keywords.some((keyword) => schema[keyword] !== undefined)) return schema
  const body = Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => !definition_keywords.includes(keyword))
  )
  const all = definition_keywords.flatMap((keyword) =>
    Object.entries(isJsonObject(schema[keyword]) ? schema[keyword] : {}).map(
      ([name, definition]) => ({ keyword, name, definition })
    )
  )
  const used = new Set<(typeof all)[number]>()
  const pending: Array<Json> = [body]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const reference of referencesIn(next)) {
      const [keyword, name] = pointerPath(reference) ?? []
      const anchor = reference.slice(1)
      for (const each of all) {
        const isNamed = each.keyword === keyword && each.name === name
        if (!isNamed && memberOf(each.definition, "$anchor") !== anchor) continue
        if (used.has(each)) continue
        used.add(each)
        pending.push(each.definition)
      }
    }
  }
  const kept = definition_keywords.flatMap((keyword) => {
    const left = all.filter((each) => each.keyword === keyword && used.has(each))
    const entries = left.map(({ definition, name }) => [name, definition] as const)
    return left.length === 0 ? [] : [[keyword, Object.fromEntries(entries)] as const]
  })
  return { ...body, ...Object.fromEntries(kept) }
}
