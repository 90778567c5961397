/**
 * Types of the platform, which the schemas of its operations name by `x-ag-type-ref`. They are expanded from here, never from a
 * fetched document.
 */
import { Result } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import type { Json } from "../value/Canonical.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject } from "./BodyPath.ts"

const marker = "x-ag-type-ref"

const message: JsonObject = {
  type: "object",
  properties: {
    role: { type: "string", enum: ["system", "developer", "user", "assistant", "tool"] },
    content: { type: ["string", "array", "null"], description: "The text, or a list of parts." },
    name: { type: "string" },
    tool_call_id: { type: "string" }
  },
  required: ["role"]
}

const call_types: Readonly<Record<string, JsonObject>> = {
  message,
  messages: { type: "array", items: message, description: "A conversation, oldest first." },
  references: {
    type: "object",
    description: "Entities of the platform, each by its id or its slug.",
    additionalProperties: {
      type: "object",
      properties: { id: { type: "string" }, slug: { type: "string" }, version: { type: "string" } }
    }
  }
}

export const isCallType = (name: string): boolean => Object.hasOwn(call_types, name)

/** Whether a schema names a type at any depth. Most schemas name none, and then nothing is expanded (bench row `calls`). */
const namesTypes = (schema: Json): boolean => {
  if (typeof schema !== "object" || schema === null) return false
  if (Array.isArray(schema)) return schema.some(namesTypes)
  for (const name in schema) {
    if (name === marker || namesTypes((schema as JsonObject)[name] ?? null)) return true
  }
  return false
}

/**
 * The schema with each `x-ag-type-ref` replaced with its type; members beside it override the type's. Fails with the first
 * unknown name.
 */
export const expandedTypes = (schema: Json): Result.Result<Json, string> =>
  namesTypes(schema) ? expanded(schema) : Result.succeed(schema)

const expanded = (schema: Json): Result.Result<Json, string> => {
  if (Array.isArray(schema)) {
    const all = schema.map(expanded)
    const failed = all.find(Result.isFailure)
    return (
      failed ??
      Result.succeed(all.flatMap((each) => (Result.isSuccess(each) ? [each.success] : [])))
    )
  }
  if (!isJsonObject(schema)) return Result.succeed(schema)
  const { [marker]: ref, ...beside } = schema
  const members: Array<readonly [string, Json]> = []
  for (const [name, member] of Object.entries(beside)) {
    const inner = expanded(member)
    if (Result.isFailure(inner)) return inner
    members.push([name, inner.success])
  }
  const rest = Object.fromEntries(members)
  if (ref === undefined) return Result.succeed(rest)
  return typeof ref === "string" && isCallType(ref)
    ? Result.succeed({ ...call_types[ref], ...rest })
    : Result.fail(truncateUnits(String(ref), 100))
}
