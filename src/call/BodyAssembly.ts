/**
 * Assembles the body of a direct call: the model's arguments, then the fixed body, then the bound context. What comes later wins,
 * so that no argument can set a fixed or bound field.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import type { BodyPath, JsonObject, PathRefusal } from "./BodyPath.ts"
import { isJsonObject, isPrefix, leafPaths, memberOf, parsePath, safeCopy } from "./BodyPath.ts"
import type { BodyParts } from "./CallDescriptor.ts"
import { contextValue, tokenPath } from "./HostContext.ts"

export type AssemblyRefusal = PathRefusal | "missing-run-context"

/** A body that is being assembled. Nothing else refers to its objects, so they may be changed. */
type Draft = Record<string, Json>

/** The object that is the member's value. Any other value is replaced with an empty object. */
const objectAt = (draft: Draft, name: string): Draft => {
  const found = memberOf(draft, name)
  return isJsonObject(found) ? found : (draft[name] = {})
}

const setAt = (draft: Draft, path: BodyPath, value: Json): void => {
  const last = path.length - 1
  let at = draft
  for (let index = 0; index < last; index++) at = objectAt(at, path[index] ?? "")
  at[path[last] ?? ""] = value
}

/** Lays fixed values over a draft. Objects are merged; of any other two values, the fixed one counts. */
const layOver = (draft: Draft, fixed: JsonObject): void => {
  for (const name of Object.keys(fixed)) {
    const value = fixed[name] as Json
    if (isJsonObject(value)) layOver(objectAt(draft, name), value)
    else draft[name] = safeCopy(value)
  }
}

/** Absent arguments count as an empty object. Without `args_into`, arguments that are not an object are left out. */
const placed = (args: unknown, into: BodyPath | undefined): Draft => {
  const given = safeCopy((args ?? {}) as Json)
  if (into === undefined) return isJsonObject(given) ? given : {}
  const draft: Draft = {}
  setAt(draft, into, given)
  return draft
}

/** Before path parameters are taken out of the body. Fails with `missing-run-context` if a bound token has no value. */
export type Assemble = (
  args: unknown,
  context: JsonObject | undefined
) => Result.Result<JsonObject, AssemblyRefusal>

/** Reads the parts once, for all calls (bench row `calls`). Fails if a path in the parts is not valid. */
export const bodyAssembler = ({
  args_into,
  body = {},
  context: bound = {}
}: BodyParts): Result.Result<Assemble, PathRefusal> => {
  const into = args_into === undefined ? undefined : parsePath(args_into)
  if (into !== undefined && Result.isFailure(into)) return Result.fail(into.failure)
  const fixed = safeCopy(body) as JsonObject
  const bindings: Array<readonly [at: BodyPath, token: BodyPath | undefined]> = []
  for (const [text, token] of Object.entries(bound)) {
    const at = parsePath(text)
    if (Result.isFailure(at)) return Result.fail(at.failure)
    bindings.push([at.success, tokenPath(token)])
  }
  return Result.succeed((args, context) => {
    const draft = placed(args, into?.success)
    layOver(draft, fixed)
    for (const [at, token] of bindings) {
      const value = token === undefined ? undefined : contextValue(token, context)
      if (value === undefined) return Result.fail("missing-run-context")
      setAt(draft, at, value)
    }
    return Result.succeed(draft)
  })
}

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
  /**
   * True = a bound field may lie within the model's arguments; the schema of the arguments does not show it. Absent = it may not.
   */
  readonly allowNestedBind?: boolean
}

/** In a sentence: a path is not valid, or two parts set overlapping paths. Undefined = they can be combined. */
export const partsConflict = (
  parts: BodyParts,
  { allowNestedBind = false }: ConflictOptions = {}
): string | undefined => {
  const { args_into, context = {} } = parts
  if (args_into === undefined && Object.keys(context).length === 0) return undefined
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
