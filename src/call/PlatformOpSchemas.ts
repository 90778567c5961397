/**
 * JSON Schemas from which those of the platform's operations are made.
 */
import type { JsonObject } from "./BodyPath.ts"

export const text = (description: string): JsonObject => ({ type: "string", description })

/** An object with these members; others are left to the endpoint. */
export const open = (properties: JsonObject, required: ReadonlyArray<string> = []): JsonObject => ({
  type: "object",
  properties,
  ...(required.length === 0 ? undefined : { required })
})

export const closed = (
  properties: JsonObject,
  required: ReadonlyArray<string> = []
): JsonObject => ({ ...open(properties, required), additionalProperties: false })

export const orNull = (schema: JsonObject): JsonObject => {
  const { description, ...rest } = schema
  return {
    ...(description === undefined ? undefined : { description }),
    anyOf: [rest, { type: "null" }]
  }
}

export const titled: JsonObject = {
  name: {
    type: "string",
    pattern: "\\S",
    minLength: 1,
    maxLength: 120,
    description: "A name of a few words, not blank."
  },
  description: { type: "string", maxLength: 300, description: "A sentence or two." }
}

/** What is searched for, in a catalogue of a provider. */
export const searched = (what: string): JsonObject =>
  open(
    {
      use_cases: {
        type: "array",
        items: { type: "string", minLength: 1 },
        minItems: 1,
        description: `${what}, one sentence for each use case.`
      },
      provider: { ...text("The provider whose catalogue is searched."), default: "composio" },
      limit_alternatives: {
        type: "integer",
        minimum: 0,
        default: 3,
        description: "Further matches for each use case."
      }
    },
    ["use_cases"]
  )
