/**
 * A schema that was read from JSON Schema, with its patterns run, and equal items found, in linear time. Private to codecs.
 */
import { Result, Schema, SchemaRepresentation } from "effect"
import { canonical } from "../Canonical.ts"
import { linearPattern } from "../entry/LinearPattern.ts"

const linear: SchemaRepresentation.FilterReviver<{
  readonly source: string
  readonly flags: string
}> = {
  ...SchemaRepresentation.isPatternReviver,
  revive: ({ annotations, payload: { source } }) => {
    const pattern = Result.getOrThrowWith(linearPattern(source), (why) => new Error(why))
    const expected = `a string matching the RegExp ${source.slice(0, 200)}`
    return Schema.makeFilter((text: string) => pattern.test(text), { expected, ...annotations })
  }
}

/** By their canonical texts, in time that grows with their size: comparing each with each takes its square. */
const unique: SchemaRepresentation.FilterReviver<null> = {
  ...SchemaRepresentation.isUniqueReviver,
  revive: ({ annotations }) =>
    Schema.makeFilter(
      (items: ReadonlyArray<unknown>) => new Set(items.map(canonical)).size === items.length,
      { expected: "an array with unique items", ...annotations }
    )
}

/** All that a JSON Schema can become: any value, and checks. */
const revivers: ReadonlyArray<SchemaRepresentation.AnyReviver> = [
  SchemaRepresentation.JsonReviver,
  SchemaRepresentation.MutableJsonReviver,
  linear,
  SchemaRepresentation.isFiniteReviver,
  SchemaRepresentation.isGreaterThanReviver,
  SchemaRepresentation.isGreaterThanOrEqualToReviver,
  SchemaRepresentation.isIntReviver,
  SchemaRepresentation.isLessThanReviver,
  SchemaRepresentation.isLessThanOrEqualToReviver,
  SchemaRepresentation.isMaxCodePointsReviver,
  SchemaRepresentation.isMinCodePointsReviver,
  SchemaRepresentation.isMaxLengthReviver,
  SchemaRepresentation.isMinLengthReviver,
  SchemaRepresentation.isMaxPropertiesReviver,
  SchemaRepresentation.isMinPropertiesReviver,
  SchemaRepresentation.isMultipleOfReviver,
  SchemaRepresentation.isPropertyNamesReviver,
  unique
]

/** Throws where a pattern cannot be run so. A schema without patterns and lists of unique items is itself. */
export const withLinearPatterns = (schema: Schema.Top, json_schema: unknown): Schema.Top =>
  /"(?:pattern|uniqueItems)/.test(JSON.stringify(json_schema))
    ? SchemaRepresentation.fromRepresentation(SchemaRepresentation.toRepresentation(schema.ast), {
        revivers
      })
    : schema
