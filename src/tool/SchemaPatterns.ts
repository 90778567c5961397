/**
 * A schema that was read from JSON Schema, with its patterns run by an engine of linear time. Private to codecs.
 */
import { Result, Schema, SchemaRepresentation } from "effect"
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

/** All checks that a JSON Schema can become. */
const revivers: ReadonlyArray<SchemaRepresentation.AnyReviver> = [
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
  SchemaRepresentation.isUniqueReviver
]

/** Throws where a pattern cannot be run so. A schema without patterns is itself. */
export const withLinearPatterns = (schema: Schema.Top, json_schema: unknown): Schema.Top =>
  JSON.stringify(json_schema).includes('"pattern')
    ? SchemaRepresentation.fromRepresentation(SchemaRepresentation.toRepresentation(schema.ast), {
        revivers
      })
    : schema
