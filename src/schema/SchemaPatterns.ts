/**
 * Rewrites schemas made from JSON Schema so that patterns and `uniqueItems` are checked in linear time. For codecs only.
 */
import { Result, Schema, SchemaRepresentation } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import { canonical } from "../value/Canonical.ts"
import { linearPattern } from "./LinearPattern.ts"

const linear: SchemaRepresentation.FilterReviver<{
  readonly source: string
  readonly flags: string
}> = {
  ...SchemaRepresentation.isPatternReviver,
  revive: ({ annotations, payload: { source } }) => {
    const pattern = Result.getOrThrowWith(linearPattern(source), (why) => new Error(why))
    const expected = `a string matching the RegExp ${truncateUnits(source, 200)}`
    return Schema.makeFilter((text: string) => pattern.test(text), { expected, ...annotations })
  }
}

/**
 * Checks `uniqueItems` by the items' canonical texts, in time linear in their size. Comparing pairs would take quadratic time.
 */
const unique: SchemaRepresentation.FilterReviver<null> = {
  ...SchemaRepresentation.isUniqueReviver,
  revive: ({ annotations }) =>
    Schema.makeFilter(
      (items: ReadonlyArray<unknown>) => new Set(items.map(canonical)).size === items.length,
      { expected: "an array with unique items", ...annotations }
    )
}

/** Revivers for every check that a JSON Schema can contain. */
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

/**
 * Returns the schema with linear checks; the same schema if it has no pattern and no `uniqueItems`. Throws if a pattern cannot
 * run in linear time.
 */
export const withLinearPatterns = (schema: Schema.Top, json_schema: unknown): Schema.Top =>
  /"(?:pattern|uniqueItems)/.test(JSON.stringify(json_schema))
    ? SchemaRepresentation.fromRepresentation(SchemaRepresentation.toRepresentation(schema.ast), {
        revivers
      })
    : schema
