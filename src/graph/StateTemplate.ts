/**
 * Templates `{{state.field}}` in the inputs of a graph's node. An input that is exactly one template becomes the field's
 * value, of any type; in a longer text each template is replaced by its value as text. A dot selects a member of an object
 * or a list.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import { isObject } from "../value/PlainObject.ts"

const whole = /^\{\{\s*state\.([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*\}\}$/
const each = /\{\{\s*state\.([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*\}\}/g

type Path = ReadonlyArray<string>

function* textsOf(value: Json): Iterable<string> {
  if (typeof value === "string") yield value
  else if (Array.isArray(value)) for (const entry of value) yield* textsOf(entry)
  else if (isObject(value)) for (const entry of Object.values(value)) yield* textsOf(entry)
}

/** The paths that the value's templates read; each begins with a field of the state. */
export const pathsReadBy = (value: Json): ReadonlyArray<Path> =>
  [...textsOf(value)].flatMap((text) =>
    [...text.matchAll(each)].map(([, path = ""]) => path.split("."))
  )

/** The path of a text that is exactly one template; undefined for other texts. */
export const templatePath = (text: string): Path | undefined => whole.exec(text)?.[1]?.split(".")

/** The first `{{` in the value that does not begin a template, with what follows it; undefined if there is none. */
export const malformedTemplate = (value: Json): string | undefined => {
  for (const text of textsOf(value)) {
    const rest = text.replaceAll(each, "")
    const at = rest.indexOf("{{")
    if (at >= 0) return rest.slice(at, at + 64)
  }
  return undefined
}

export type State = ReadonlyMap<string, Json>

/** The value at a path. Fails with the shortest part of the path that does not exist. */
const valueAtPath = (state: State, path: Path): Result.Result<Json, string> => {
  let value: Json | undefined
  for (const [index, step] of path.entries()) {
    value = index === 0 ? state.get(step) : memberOf(value, step)
    if (value === undefined) return Result.fail(path.slice(0, index + 1).join("."))
  }
  return value === undefined ? Result.fail("") : Result.succeed(value)
}

const memberOf = (value: Json | undefined, name: string): Json | undefined =>
  (isObject(value) || (Array.isArray(value) && /^\d+$/.test(name))) && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, Json>>)[name]
    : undefined

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value))

const filledText = (text: string, state: State): Result.Result<Json, string> => {
  const only = templatePath(text)
  if (only !== undefined) return valueAtPath(state, only)
  let missing: string | undefined
  const filled = text.replaceAll(each, (_, path: string) => {
    const value = valueAtPath(state, path.split("."))
    if (Result.isSuccess(value)) return textOf(value.success)
    missing ??= value.failure
    return ""
  })
  return missing === undefined ? Result.succeed(filled) : Result.fail(missing)
}

/** The value with its templates filled in. Fails with the first path that the state does not have. */
export const fillTemplates = (value: Json, state: State): Result.Result<Json, string> => {
  if (typeof value === "string") return filledText(value, state)
  if (Array.isArray(value)) {
    return Result.all((value as ReadonlyArray<Json>).map((entry) => fillTemplates(entry, state)))
  }
  if (!isObject(value)) return Result.succeed(value)
  const members: Array<readonly [string, Json]> = []
  for (const [name, member] of Object.entries(value)) {
    const filled = fillTemplates(member, state)
    if (Result.isFailure(filled)) return filled
    members.push([name, filled.success])
  }
  return Result.succeed(Object.fromEntries(members))
}
