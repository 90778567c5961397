/**
 * Patterns of schemas that others wrote, run in time that grows with the text alone: RE2's engine, which never goes back.
 * What it cannot do so (look-ahead, back references) is refused when the schema is read, not when a text comes.
 */
import { Result } from "effect"
import { RE2JS } from "re2js"

/** A pattern has at most so many characters: what it costs a character of text grows with it. */
const pattern_units_max = 2_000

/** A text that is longer matches no pattern. */
const text_units_max = 1_000_000

export interface LinearPattern {
  readonly source: string
  readonly test: (text: string) => boolean
  /** The source: some engines tell patterns apart by it. */
  readonly toString: () => string
}

/** A pattern of JSON Schema, in ECMAScript's words; the failure says why it is refused. */
export const linearPattern = (source: string): Result.Result<LinearPattern, string> => {
  if (source.length > pattern_units_max) {
    return Result.fail(`a pattern has more than ${pattern_units_max} characters`)
  }
  return Result.mapBoth(
    Result.try(() => RE2JS.compile(RE2JS.translateRegExp(source))),
    {
      onSuccess: (compiled): LinearPattern => ({
        source,
        test: (text) => text.length <= text_units_max && compiled.test(text),
        toString: () => source
      }),
      onFailure: () =>
        `the pattern ${JSON.stringify(source.slice(0, 100))} cannot be run in linear time`
    }
  )
}
