/**
 * Canonical JSON: keys are sorted by UTF-16 code unit, there is no white space, and the same value always has the same text.
 * Decisions and the identities of calls are bound to the SHA-256 of this text.
 */
import type { Schema } from "effect"
import { isRawNumber } from "./JsonText.ts"

export type Json = Schema.Json

/**
 * Cached JSON texts of member names, each with its colon. Events have few different names, which recur in each of them (bench
 * row `send-durable`).
 */
const names = new Map<string, string>()
const names_max = 1_000
/** The longest name that is cached, in UTF-16 units. */
const name_max = 40

const nameText = (name: string): string => {
  const known = names.get(name)
  if (known !== undefined) return known
  const text = JSON.stringify(name) + ":"
  if (names.size < names_max && name.length <= name_max) names.set(name, text)
  return text
}

/**
 * The canonical text of a JSON value. Members that are `undefined` are left out, as in JSON.stringify.
 * Throws a RangeError on a number that JSON cannot represent (NaN, Infinity) and on anything that is not JSON.
 */
export const canonical = (value: unknown): string => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value)
    case "number":
      if (!Number.isFinite(value)) throw new RangeError("a number that JSON cannot say")
      return String(value)
    case "boolean":
      return value ? "true" : "false"
    case "object":
      break
    default:
      throw new RangeError(`${typeof value} is not JSON`)
  }
  if (value === null) return "null"
  if (Array.isArray(value)) {
    let text = "["
    for (let i = 0; i < value.length; i++) {
      if (i > 0) text += ","
      text += value[i] === undefined ? "null" : canonical(value[i])
    }
    return text + "]"
  }
  if (isRawNumber(value)) return value.rawJSON
  const record = value as Record<string, unknown>
  const keys = Object.keys(record)
  let before = ""
  for (const key of keys) {
    if (before > key) {
      keys.sort()
      break
    }
    before = key
  }
  let text = "{"
  let first = true
  for (const key of keys) {
    const member = record[key]
    if (member === undefined) continue
    if (first) first = false
    else text += ","
    text += nameText(key) + canonical(member)
  }
  return text + "}"
}

/** Whether two JSON values have the same canonical text. Members that are `undefined` count as absent. */
export const isSameJson = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((each: unknown, i) => isSameJson(each ?? null, b[i] ?? null))
    )
  }
  const one = a as Record<string, unknown>
  const other = b as Record<string, unknown>
  const isKept = (name: string) => Object.hasOwn(one, name) || other[name] === undefined
  return (
    Object.keys(other).every(isKept) &&
    Object.keys(one).every((name) =>
      isSameJson(one[name], Object.hasOwn(other, name) ? other[name] : undefined)
    )
  )
}

/** A deep copy of a JSON value, so that later changes to the original do not reach it. */
export const copyJson = <A extends Json>(value: A): A => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map((item: Json) => copyJson(item)) as never
  // A spread copies every member, `__proto__` included, and is faster than assigning them one by one (bench row `step`).
  const copy: Record<string, Json> = { ...(value as Record<string, Json>) }
  for (const name in copy) {
    const member = copy[name]
    if (typeof member !== "object") continue
    if (name === "__proto__") Object.defineProperty(copy, name, { ...own, value: copyJson(member) })
    else copy[name] = copyJson(member)
  }
  return copy as never
}

const own = { configurable: true, enumerable: true, writable: true }
