/**
 * The flags of zod's patterns in its JSON Schema, which zod leaves out: an answer that its schema takes would be refused. JSON Schema
 * has none, so they stand within the pattern, `(?i:^a$)`, as ECMAScript has them since 2025.
 */
import { isObject } from "../value/PlainObject.ts"

/** What zod writes, and the schema that it writes it of. */
interface Written {
  readonly jsonSchema: Record<string, unknown>
  readonly zodSchema: unknown
}

const innerOf = (schema: unknown): unknown =>
  isObject(schema) && isObject(schema["_zod"]) ? schema["_zod"]["def"] : undefined

/** The patterns of a string's schema and of its checks, by their sources. */
const patternsOf = (schema: unknown): ReadonlyMap<string, RegExp> => {
  const own = innerOf(schema)
  const checks = isObject(own) && Array.isArray(own["checks"]) ? own["checks"].map(innerOf) : []
  const patterns = [own, ...checks].flatMap((each) => {
    const pattern = isObject(each) ? each["pattern"] : undefined
    return pattern instanceof RegExp ? [[pattern.source, pattern] as const] : []
  })
  return new Map(patterns)
}

const putFlags = (into: Record<string, unknown>, patterns: ReadonlyMap<string, RegExp>): void => {
  const { pattern } = into
  const flags = patterns.get(String(pattern))?.flags.replace(/[^ims]/g, "") ?? ""
  if (flags !== "") into["pattern"] = `(?${flags}:${String(pattern)})`
}

/** Zod's option `override`: called with each schema that it has written, which it may change. */
export const keepFlags = ({ jsonSchema, zodSchema }: Written): void => {
  if (jsonSchema["type"] !== "string") return
  const patterns = patternsOf(zodSchema)
  if (patterns.size === 0) return
  const { allOf } = jsonSchema
  for (const each of [jsonSchema, ...(Array.isArray(allOf) ? (allOf as Array<unknown>) : [])]) {
    if (isObject(each)) putFlags(each, patterns)
  }
}
