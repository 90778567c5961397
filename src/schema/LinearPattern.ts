/**
 * Patterns of foreign schemas, matched in linear time by RE2's engine, which does not backtrack, and schemas made from JSON Schema
 * with such patterns in place of their own. They mean what they mean in JavaScript (`PatternSyntax`). A pattern that RE2 does not
 * support (looking ahead from within, back references) is refused when the schema is read and not when a text is matched.
 */
import { Result, Schema, SchemaRepresentation } from "effect"
import { RE2JS } from "re2js"
import { truncateUnits } from "../value/CutText.ts"
import { canonical } from "../value/Canonical.ts"
import { isObject } from "../value/PlainObject.ts"
import { inUnicodeMode, patternParts } from "./PatternSyntax.ts"

/** The longest pattern, in characters. The matching time for each character of a text grows with it. */
const pattern_units_max = 2_000

/** The most instructions of a compiled pattern; `[a-z]{1,1000}` has 2,000. Each may run once per character of text. */
const pattern_size_max = 2_500

/** The longest text that is matched, in UTF-16 units. A longer one matches no pattern. */
const text_units_max = 1_000_000

export interface LinearPattern {
  readonly source: string
  /** The number of instructions, about 2,500 at most. The matching time for each character of a text grows with it. */
  readonly size: number
  readonly test: (text: string) => boolean
  /** Returns the pattern's source, which some validators use as its key. */
  readonly toString: () => string
}

/** Matches one piece of a pattern: an escape, a class, the beginning or end of a group, a repetition, or any other character. */
const piece =
  /\\[pPuxk]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:<\w+>|P<\w+>|[a-zA-Z-]*:))?|\)|\{(\d+)(,(\d*))?\}|[^]/g

/**
 * The size of a pattern with its repetitions written out, checked before it is compiled because compiling takes time in
 * proportion. A repetition without an upper bound counts as its lower bound and one.
 */
const expandedSize = (source: string): number => {
  const open: Array<number> = []
  let size = 0
  /** The size of the last atom, which a repetition repeats. */
  let last = 0
  for (const [text, least, isRange, most] of source.matchAll(piece)) {
    if (least !== undefined) {
      const times =
        isRange === undefined ? Number(least) : most === "" ? Number(least) + 1 : Number(most) * 2
      size += last * (Math.max(times, 1) - 1)
      last *= Math.max(times, 1)
    } else if (text.startsWith("(")) {
      open.push(size)
      size = 0
    } else if (text === ")") {
      last = size + 2
      size = (open.pop() ?? 0) + last
    } else {
      last = 1
      size++
    }
  }
  return open.reduce((all, each) => all + each, size)
}

/** Compiles a pattern of JSON Schema, in ECMAScript's syntax. The failure says why it is refused. */
export const linearPattern = (source: string): Result.Result<LinearPattern, string> => {
  if (source.length > pattern_units_max) {
    return Result.fail(`a pattern has more than ${pattern_units_max} characters`)
  }
  const parts = patternParts(source)
  if (Result.isFailure(parts))
    return Result.fail(`the pattern ${shownPattern(source)} ${parts.failure}`)
  const { all, none } = parts.success
  const size = [...all, ...none].reduce((sum, part) => sum + expandedSize(part), 0)
  if (size > pattern_size_max) {
    return Result.fail(
      `the pattern ${shownPattern(source)} is too large: written out, it has more than ${pattern_size_max} parts`
    )
  }
  return Result.mapBoth(
    Result.try(() => [all, none].map((each) => each.map((part) => RE2JS.compile(part)))),
    {
      onSuccess: ([matches = [], refuses = []]): LinearPattern => ({
        source,
        size: Math.max(
          size,
          [...matches, ...refuses].reduce((sum, each) => sum + each.programSize(), 0)
        ),
        test: (text) =>
          text.length <= text_units_max &&
          matches.every((each) => each.test(text)) &&
          !refuses.some((each) => each.test(text)),
        toString: () => source
      }),
      onFailure: () => `the pattern ${shownPattern(source)} cannot be run in linear time`
    }
  )
}

const shownPattern = (source: string): string => JSON.stringify(source.slice(0, 100))

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

const mentions = /"(?:pattern|uniqueItems)/

/** Keywords whose values are data, and no schemas. */
const data: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "example"])

const readable = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(readable)
  if (!isObject(schema)) return schema
  const members = Object.entries(schema).map(([name, value]): readonly [string, unknown] => {
    if (data.has(name)) return [name, value]
    if (name === "pattern" && typeof value === "string") return [name, inUnicodeMode(value)]
    if (name !== "patternProperties" || !isObject(value)) return [name, readable(value)]
    const selected = Object.entries(value).map(
      ([pattern, each]) => [inUnicodeMode(pattern), readable(each)] as const
    )
    return [name, Object.fromEntries(selected)]
  })
  return Object.fromEntries(members)
}

/** The same JSON Schema with patterns that Unicode mode reads, which is the one that a check of it reads them in. */
export const withReadablePatterns = <A extends object>(json_schema: A): A =>
  mentions.test(JSON.stringify(json_schema)) ? (readable(json_schema) as A) : json_schema

/**
 * Returns the schema with linear checks; the same schema if it has no pattern and no `uniqueItems`. Throws if a pattern cannot
 * run in linear time.
 */
export const withLinearPatterns = (schema: Schema.Top, json_schema: unknown): Schema.Top =>
  mentions.test(JSON.stringify(json_schema))
    ? SchemaRepresentation.fromRepresentation(SchemaRepresentation.toRepresentation(schema.ast), {
        revivers
      })
    : schema
