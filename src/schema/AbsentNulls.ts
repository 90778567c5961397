/**
 * Many models write null for a member that they leave out. Where a schema refuses null and lets the member be absent, optional
 * or with a default, null counts as absent. A member that takes null gets it.
 */
import { Cause, Exit } from "effect"
import { isSameJson } from "../value/Canonical.ts"
import { isObject } from "../value/PlainObject.ts"
import { refusalPaths } from "./SchemaIssues.ts"

type Decode = (value: unknown) => Exit.Exit<unknown, unknown>

/** The most values that all tries together look at. */
const looks_max = 1_000_000
/** The most tries: some schemas name one fault at a time. */
const tries_max = 1_000

/** How many values there are, and whether one is null. */
const counted = (value: unknown, found: { values: number; nulls: number }): void => {
  found.values++
  if (value === null) found.nulls++
  else if (typeof value === "object") {
    for (const name in value) counted((value as Readonly<Record<string, unknown>>)[name], found)
  }
}

const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const kept = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNulls(member)]))
}

/**
 * The value without the member at this path if it is null; undefined = it is no such member. Of any other value at the path, such
 * as one of a union whose choices have faults of their own, all members that are null are left out.
 */
const withoutNull = (value: unknown, [name, ...rest]: ReadonlyArray<string>): unknown => {
  if (name === undefined) return value === null ? undefined : withoutNulls(value)
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
  const member = (value as Readonly<Record<string, unknown>>)[name]
  if (rest.length === 0 && member === null && isObject(value)) {
    return Object.fromEntries(Object.entries(value).filter(([each]) => each !== name))
  }
  const less = withoutNull(member, rest)
  if (less === undefined) return undefined
  if (Array.isArray(value)) return value.with(Number(name), less)
  return Object.fromEntries(
    Object.entries(value).map(([each, one]) => [each, each === name ? less : one])
  )
}

/**
 * Decodes, and where that fails again without the members that were refused for being null. If this helps not, the first refusal
 * stands. `decodeAll` may name more than one fault; it is made when it is first needed.
 */
export const nullAsAbsent = (decode: Decode, decodeAll: () => Decode = () => decode): Decode => {
  let all: Decode | undefined
  return (args) => {
    const first = decode(args)
    if (Exit.isSuccess(first)) return first
    const found = { values: 0, nulls: 0 }
    counted(args, found)
    if (found.nulls === 0) return first
    all ??= decodeAll()
    const tries = Math.min(tries_max, found.nulls, Math.floor(looks_max / found.values))
    let value = args
    for (let left = tries; left > 0; left--) {
      const exit = all(value)
      if (Exit.isSuccess(exit)) return decode(value)
      const paths = refusalPaths(Cause.squash(exit.cause))
      const before = value
      for (const path of paths) {
        if (path.length > 0) value = withoutNull(value, path) ?? value
      }
      if (isSameJson(value, before)) break
    }
    const last = decode(value)
    return Exit.isSuccess(last) ? last : first
  }
}
