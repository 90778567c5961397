/**
 * Assembles the body of a direct call: the model's arguments, then the fixed body, then the bound context. What comes later
 * wins, so that no argument sets a fixed or bound field.
 */
import { Result } from "effect"
import type { Json } from "../Canonical.ts"
import type { BodyPath, JsonObject, PathRefusal } from "./BodyPath.ts"
import {
  isJsonObject,
  isPrefix,
  leafPaths,
  merged,
  parsePath,
  safeCopy,
  withoutValueAt,
  withValueAt
} from "./BodyPath.ts"
import type { BodyParts } from "./CallDescriptor.ts"
import { tokenValue } from "./RunContext.ts"

export type AssemblyRefusal = PathRefusal | "missing-run-context"

/** The arguments at their place. Without `args_into` anything but an object has no place and is left out. */
const placed = (
  args: unknown,
  args_into: string | undefined
): Result.Result<JsonObject, PathRefusal> => {
  const given = safeCopy((args ?? null) as Json)
  if (args_into === undefined) return Result.succeed(isJsonObject(given) ? given : {})
  return Result.map(parsePath(args_into), (path) =>
    given === null ? {} : withValueAt({}, path, given)
  )
}

/** The whole body, before path parameters are taken out of it. A token that does not resolve refuses the call. */
export const assembleBody = (
  { args_into, body: fixed = {}, context: bound = {} }: BodyParts,
  args: unknown,
  context: JsonObject | undefined
): Result.Result<JsonObject, AssemblyRefusal> => {
  const start = placed(args, args_into)
  if (Result.isFailure(start)) return start
  const over = safeCopy(fixed)
  let body = isJsonObject(over) ? merged(start.success, over) : start.success
  const values: Array<readonly [BodyPath, Json]> = []
  for (const [text, token] of Object.entries(bound)) {
    const path = parsePath(text)
    if (Result.isFailure(path)) return Result.fail(path.failure)
    const value = tokenValue(token, context)
    if (value === undefined) return Result.fail("missing-run-context")
    values.push([path.success, value])
  }
  for (const [path] of values) body = withoutValueAt(body, path)
  for (const [path, value] of values) body = withValueAt(body, path, value)
  return Result.succeed(body)
}

/** What one part of a call sets in the body. */
interface Setting {
  readonly part: "args_into" | "body" | "context"
  readonly path: BodyPath
}

const settingsOf = ({
  args_into,
  body = {},
  context = {}
}: BodyParts): Result.Result<ReadonlyArray<Setting>, PathRefusal> => {
  const settings: Array<Setting> = leafPaths(body).map((path) => ({ part: "body", path }))
  const given: ReadonlyArray<readonly [Setting["part"], string]> = [
    ...(args_into === undefined ? [] : [["args_into", args_into] as const]),
    ...Object.keys(context).map((path) => ["context", path] as const)
  ]
  for (const [part, text] of given) {
    const path = parsePath(text)
    if (Result.isFailure(path)) return Result.fail(path.failure)
    settings.push({ part, path: path.success })
  }
  return Result.succeed(settings)
}

export interface ConflictOptions {
  /** A bound field may lie within the model's arguments: its schema does not show the field. Absent = it may not. */
  readonly allowNestedBind?: boolean
}

/** Why the parts of a call cannot stand together, in a sentence; undefined = they can. */
export const partsConflict = (
  parts: BodyParts,
  { allowNestedBind = false }: ConflictOptions = {}
): string | undefined => {
  const found = settingsOf(parts)
  if (Result.isFailure(found)) {
    return found.failure === "empty-path-segment"
      ? "a path has an empty segment"
      : "a path has a segment that could reach a prototype"
  }
  const fixed = found.success.filter(({ part }) => part === "body")
  const others = found.success.filter(({ part }) => part !== "body")
  for (const [index, one] of others.entries()) {
    for (const other of [...fixed, ...others.slice(index + 1)]) {
      if (!isPrefix(one.path, other.path) && !isPrefix(other.path, one.path)) continue
      const isNestedBind =
        one.part === "args_into" && other.part === "context" && one.path.length < other.path.length
      if (allowNestedBind && isNestedBind) continue
      return `${one.part} "${one.path.join(".")}" and ${other.part} "${other.path.join(".")}" overlap`
    }
  }
  return undefined
}
