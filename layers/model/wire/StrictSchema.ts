/**
 * Schemas of answers in the strict mode of OpenAI's wire.
 */
import type { SharedV4ProviderOptions } from "@ai-sdk/provider"

/** For a schema that the strict mode of OpenAI's wire refuses; the answer is checked here. */
export const not_strict: SharedV4ProviderOptions = {
  openai: { strictJsonSchema: false },
  openaiCompatible: { strictJsonSchema: false }
}

/** Is every object of the schema closed, with all its members required, as a strict mode asks? */
export const isStrict = (schema: unknown): boolean => {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (typeof schema !== "object" || schema === null) return true
  const { additionalProperties, properties, required } = schema as Readonly<Record<string, unknown>>
  if (typeof properties === "object" && properties !== null) {
    const names = Array.isArray(required) ? required : []
    const isClosed = additionalProperties === false
    if (!isClosed || Object.keys(properties).some((name) => !names.includes(name))) return false
  }
  return Object.values(schema).every(isStrict)
}
