/**
 * Recognises catalogue entries that are certainly valid: they have only the fields below, each with a value that is easy to
 * check. Most entries are such, and this check takes a third of the time of decoding, which a large catalogue spends at every
 * start (bench row `calls`).
 */
import { schemaFault } from "../schema/SchemaShape.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject } from "./BodyPath.ts"
import { bindings_max, CallMethod, isWithinUnits, path_units_max } from "./CallDescriptor.ts"
import { isPlainPath } from "./CallTarget.ts"
import { tokenPath } from "./HostContext.ts"

const methods: ReadonlySet<unknown> = new Set(CallMethod.literals)

const isFlag = (value: unknown): boolean => typeof value === "boolean"

const isText = (value: unknown, least: number, most: number): value is string =>
  typeof value === "string" && value.length >= least && value.length <= most

const isBindings = (value: unknown): boolean => {
  if (!isJsonObject(value)) return false
  const names = Object.keys(value)
  return (
    names.length <= bindings_max &&
    names.every((name) => {
      const token = value[name]
      return isText(name, 1, 500) && isText(token, 0, 500) && tokenPath(token) !== undefined
    })
  )
}

/** The fields that can be checked here, each with its check. An entry with any other field has to be decoded. */
const fields: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["op", (value: unknown) => typeof value === "string" && /^[A-Za-z0-9_-]{1,64}$/.test(value)],
  ["description", (value: unknown) => isText(value, 1, 4_000)],
  ["method", (value: unknown) => methods.has(value)],
  ["path", (value: unknown) => isText(value, 1, path_units_max) && isPlainPath(value)],
  [
    "input_schema",
    (value: unknown) =>
      isJsonObject(value) && isWithinUnits(value) && schemaFault(value) === undefined
  ],
  ["bind", isBindings],
  ["precondition", isBindings],
  ["allow_nested_bind", isFlag],
  ["read_only", isFlag],
  ["idempotent", isFlag],
  ["default_needs_approval", isFlag]
])
const required = ["op", "description", "method", "path", "input_schema"]

/** Whether an entry that was read as JSON is certainly valid. False = it has to be decoded. */
export const isPlainOp = (entry: JsonObject): boolean => {
  for (const name of required) if (entry[name] === undefined) return false
  for (const name of Object.keys(entry)) {
    if (fields.get(name)?.(entry[name]) !== true) return false
  }
  return true
}
