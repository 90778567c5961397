/**
 * Dotted paths into a JSON object, such as `data.inputs`. Only own members are followed, and no segment can reach a
 * prototype. Every function leaves its arguments unchanged.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import { isObject } from "../value/PlainObject.ts"

export type JsonObject = { readonly [name: string]: Json }
export type BodyPath = ReadonlyArray<string>
export type PathRefusal = "unsafe-path-segment" | "empty-path-segment"

/** The names by which a value reaches the prototype that it shares with others. */
const unsafe_names: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"])

export const isUnsafeName = (name: string): boolean => unsafe_names.has(name)

/** Whether a value that is known to be JSON is an object and not a list. */
export const isJsonObject = isObject<Json>

export const listOf = (value: Json | undefined): ReadonlyArray<Json> =>
  Array.isArray(value) ? (value as ReadonlyArray<Json>) : []

export const parsePath = (text: string): Result.Result<BodyPath, PathRefusal> => {
  const segments = text.split(".")
  if (segments.includes("")) return Result.fail("empty-path-segment")
  return segments.some(isUnsafeName) ? Result.fail("unsafe-path-segment") : Result.succeed(segments)
}

/** The own member of an object; undefined if the value is not an object or has no member of this name. */
export const memberOf = (value: unknown, name: string): Json | undefined =>
  isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

export const valueAt = (value: unknown, path: BodyPath): Json | undefined => {
  let found = value as Json | undefined
  for (const name of path) found = memberOf(found, name)
  return found
}

/** Sets the value at a path. A value on the way that is not an object is replaced with one. */
export const withValueAt = (body: JsonObject, path: BodyPath, value: Json): JsonObject => {
  const [name, ...rest] = path
  if (name === undefined) return body
  if (rest.length === 0) return { ...body, [name]: value }
  const inner = memberOf(body, name)
  return { ...body, [name]: withValueAt(isJsonObject(inner) ? inner : {}, rest, value) }
}

/** Removes the value at a path, and objects on the way that become empty by that. */
export const withoutValueAt = (body: JsonObject, path: BodyPath): JsonObject => {
  const [name, ...rest] = path
  if (name === undefined || !Object.hasOwn(body, name)) return body
  const { [name]: inner, ...others } = body
  if (rest.length === 0) return others
  if (!isJsonObject(inner)) return body
  const left = withoutValueAt(inner, rest)
  if (left === inner) return body
  return Object.keys(left).length === 0 ? others : { ...body, [name]: left }
}

/** A deep copy without the members that have unsafe names. */
export const safeCopy = (value: Json): Json => {
  if (typeof value !== "object" || value === null) return value
  return Array.isArray(value) ? value.map(safeCopy) : safeMembers(value as JsonObject)
}

const safeMembers = (value: JsonObject): Record<string, Json> => {
  const copy: Record<string, Json> = {}
  for (const name of Object.keys(value)) {
    if (!isUnsafeName(name)) copy[name] = safeCopy(value[name] as Json)
  }
  return copy
}

/** Merges two objects. Objects inside them are merged too; of any other two values, that of `over` counts. */
export const merged = (under: JsonObject, over: JsonObject): JsonObject => {
  const members = Object.entries(over).map(([name, member]) => {
    const beneath = memberOf(under, name)
    return [
      name,
      isJsonObject(member) && isJsonObject(beneath) ? merged(beneath, member) : member
    ] as const
  })
  return { ...under, ...Object.fromEntries(members) }
}

/** The paths of all values in an object that are not objects with members. Members with unsafe names are left out. */
export const leafPaths = (body: JsonObject): ReadonlyArray<BodyPath> =>
  Object.entries(body).flatMap(([name, member]): ReadonlyArray<BodyPath> => {
    if (isUnsafeName(name)) return []
    if (!isJsonObject(member) || Object.keys(member).length === 0) return [[name]]
    return leafPaths(member).map((path) => [name, ...path])
  })

/** Whether the second path begins with the first or equals it. */
export const isPrefix = (first: BodyPath, second: BodyPath): boolean =>
  first.length <= second.length && first.every((name, index) => second[index] === name)
