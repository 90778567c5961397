/**
 * `{{state.field}}` in the inputs of a graph's node. An input that is nothing but one template has the field's value,
 * whatever it is; in a longer text each template is replaced by its value's text. A dot goes into an object or a list.
 */
import { Result } from "effect"
import type { Json } from "../Canonical.ts"

const whole = /^\{\{\s*state\.([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*\}\}$/
const each = /\{\{\s*state\.([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*\}\}/g

type Path = ReadonlyArray<string>

const isObject = (value: unknown): value is Readonly<Record<string, Json>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Every text in the value, however deep. */
function* textsOf(value: Json): Iterable<string> {
  if (typeof value === "string") yield value
  else if (Array.isArray(value)) for (const entry of value) yield* textsOf(entry)
  else if (isObject(value)) for (const entry of Object.values(value)) yield* textsOf(entry)
}

/** The paths that the value reads, each a field of the state and what is asked of it. */
export const pathsReadBy = (value: Json): ReadonlyArray<Path> =>
  [...textsOf(value)].flatMap((text) =>
    [...text.matchAll(each)].map((match) => match[1]!.split("."))
  )

/** The path of a text that is nothing but one template. */
export const templatePath = (text: string): Path | undefined => whole.exec(text)?.[1]!.split(".")

/** A text in the value with braces that are no template; undefined if there is none. */
export const malformedTemplate = (value: Json): string | undefined => {
  for (const text of textsOf(value)) {
    const rest = text.replaceAll(each, "")
    const at = rest.indexOf("{{")
    if (at >= 0) return rest.slice(at, at + 64)
  }
  return undefined
}

export type State = ReadonlyMap<string, Json>

/** The value at a path, or the shortest path that leads nowhere. */
const at = (state: State, path: Path): Result.Result<Json, string> => {
  let value: Json | undefined = state.get(path[0]!)
  for (const [index, step] of path.entries()) {
    if (index > 0) {
      value =
        (isObject(value) || (Array.isArray(value) && /^\d+$/.test(step))) &&
        Object.hasOwn(value, step)
          ? (value as Readonly<Record<string, Json>>)[step]
          : undefined
    }
    if (value === undefined) return Result.fail(path.slice(0, index + 1).join("."))
  }
  return Result.succeed(value!)
}

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value))

const filledText = (text: string, state: State): Result.Result<Json, string> => {
  const only = whole.exec(text)
  if (only !== null) return at(state, only[1]!.split("."))
  let missing: string | undefined
  const filled = text.replaceAll(each, (_, path: string) => {
    const value = at(state, path.split("."))
    if (Result.isSuccess(value)) return textOf(value.success)
    missing ??= value.failure
    return ""
  })
  return missing === undefined ? Result.succeed(filled) : Result.fail(missing)
}

/** The value with its templates filled; fails with the path that the state does not have. */
export const fillTemplates = (value: Json, state: State): Result.Result<Json, string> => {
  if (typeof value === "string") return filledText(value, state)
  if (Array.isArray(value)) {
    const entries: Array<Json> = []
    for (const entry of value as ReadonlyArray<Json>) {
      const filled = fillTemplates(entry, state)
      if (Result.isFailure(filled)) return filled
      entries.push(filled.success)
    }
    return Result.succeed(entries)
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
