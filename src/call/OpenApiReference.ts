/**
 * Follows the references of an OpenAPI document, and finds those that lead back to themselves. Such a reference becomes a
 * definition, to which a schema can refer from within itself. Any other is replaced with what it names.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject, isUnsafeName, memberOf } from "./BodyPath.ts"

/** Members whose own members have names that the document's author chose. */
const maps = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
  "content",
  "encoding"
])
const data = new Set(["default", "enum", "const"])
/** Members that do not describe what is sent. */
const dropped = new Set([
  "example",
  "examples",
  "externalDocs",
  "xml",
  "discriminator",
  "headers",
  "links"
])

/** How a member of an object in the document is treated. In a map, the document's author chose all names. */
export const memberKind = (name: string, isMap: boolean): "dropped" | "data" | "map" | "value" => {
  if (isUnsafeName(name)) return "dropped"
  if (isMap) return "value"
  if (dropped.has(name) || name.startsWith("x-")) return "dropped"
  return data.has(name) ? "data" : maps.has(name) ? "map" : "value"
}

/** What references to definitions begin with in a document. `schema2020` makes them references into `$defs`. */
export const definitions_place = "#/components/schemas/"

export interface References {
  readonly root: JsonObject
  /** The references within what a reference names, by that reference; filled as they are needed. */
  readonly within: Map<string, ReadonlySet<string>>
  /** Whether a reference leads back to itself; filled as it is needed. */
  readonly recursive: Map<string, boolean>
  /** The names of the definitions, by the references that became them. */
  readonly names: Map<string, string>
}

export const referencesOf = (root: JsonObject): References => ({
  root,
  within: new Map(),
  recursive: new Map(),
  names: new Map()
})

const stepped = (found: Json | undefined, name: string): Json | undefined =>
  Array.isArray(found)
    ? /^(?:0|[1-9]\d{0,6})$/.test(name)
      ? (found as ReadonlyArray<Json>)[Number(name)]
      : undefined
    : memberOf(found, name)

/** What a reference names; undefined if it leads out of the document or nowhere. */
export const namedBy = ({ root }: References, reference: string): Json | undefined => {
  if (!reference.startsWith("#/")) return undefined
  let found: Json | undefined = root
  for (const part of reference.slice(2).split("/")) {
    const decoded = Result.try(() => decodeURIComponent(part))
    if (Result.isFailure(decoded)) return undefined
    found = stepped(found, decoded.success.replaceAll("~1", "/").replaceAll("~0", "~"))
  }
  return found
}

/** Adds the references within a value, but not those within what they name. */
const collect = (value: Json | undefined, isMap: boolean, found: Set<string>): void => {
  if (Array.isArray(value)) {
    for (const item of value as ReadonlyArray<Json>) collect(item, false, found)
  } else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      const kind = memberKind(name, isMap)
      if (kind === "dropped" || kind === "data") continue
      if (name === "$ref" && !isMap && typeof member === "string") found.add(member)
      else collect(member, kind === "map", found)
    }
  }
}

const referencesWithin = (references: References, reference: string): ReadonlySet<string> => {
  const known = references.within.get(reference)
  if (known !== undefined) return known
  const found = new Set<string>()
  collect(namedBy(references, reference), false, found)
  references.within.set(reference, found)
  return found
}

export const isRecursive = (references: References, reference: string): boolean => {
  const known = references.recursive.get(reference)
  if (known !== undefined) return known
  const seen = new Set<string>()
  const open = [...referencesWithin(references, reference)]
  let next = open.pop()
  while (next !== undefined && next !== reference) {
    if (!seen.has(next)) {
      seen.add(next)
      open.push(...referencesWithin(references, next))
    }
    next = open.pop()
  }
  references.recursive.set(reference, next === reference)
  return next === reference
}

/** The name of the definition that a reference becomes. It is the same for all operations of a document. */
export const definitionName = ({ names }: References, reference: string): string => {
  const known = names.get(reference)
  if (known !== undefined) return known
  const last = reference.slice(reference.lastIndexOf("/") + 1).replaceAll(/[^A-Za-z0-9_]+/g, "_")
  const taken = new Set(names.values())
  const wanted = last.slice(0, 50) || "definition"
  let name = wanted
  for (let n = 2; taken.has(name); n++) name = `${wanted}_${n}`
  names.set(reference, name)
  return name
}
