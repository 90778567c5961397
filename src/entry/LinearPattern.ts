/**
 * Patterns of schemas that others wrote, run in time that grows with the text alone: RE2's engine, which never goes back.
 * What it cannot do so (look-ahead, back references) is refused when the schema is read, not when a text comes.
 */
import { Result } from "effect"
import { RE2JS } from "re2js"

/** A pattern has at most so many characters: what it costs a character of text grows with it. */
const pattern_units_max = 2_000

/** Instructions that a pattern may become: `[a-z]{1,1000}` is 2,000. All of them may look at each character. */
const pattern_size_max = 2_500

/** A text that is longer matches no pattern. */
const text_units_max = 1_000_000

export interface LinearPattern {
  readonly source: string
  /** Instructions, at most some 2,500: what a character of text may cost grows with them. */
  readonly size: number
  readonly test: (text: string) => boolean
  /** The source: some engines tell patterns apart by it. */
  readonly toString: () => string
}

/** An escape, a class, a group's begin or end, a repetition, or any other character. */
const piece =
  /\\[pPuxk]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:<\w+>|P<\w+>|[a-zA-Z-]*:))?|\)|\{(\d+)(,(\d*))?\}|[^]/g

/**
 * How large a pattern is once its repetitions are written out, before it is compiled: that takes time by this size. A
 * repetition without an end is one of its least number and one more.
 */
const writtenOut = (source: string): number => {
  const open: Array<number> = []
  let size = 0
  /** Of the last atom, which a repetition repeats. */
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

/** A pattern of JSON Schema, in ECMAScript's words; the failure says why it is refused. */
export const linearPattern = (source: string): Result.Result<LinearPattern, string> => {
  if (source.length > pattern_units_max) {
    return Result.fail(`a pattern has more than ${pattern_units_max} characters`)
  }
  const size = writtenOut(source)
  if (size > pattern_size_max) {
    return Result.fail(
      `the pattern ${JSON.stringify(source.slice(0, 100))} is too large: written out, it has more than ${pattern_size_max} parts`
    )
  }
  return Result.mapBoth(
    Result.try(() => RE2JS.compile(RE2JS.translateRegExp(source))),
    {
      onSuccess: (compiled): LinearPattern => ({
        source,
        size: Math.max(size, compiled.programSize()),
        test: (text) => text.length <= text_units_max && compiled.test(text),
        toString: () => source
      }),
      onFailure: () =>
        `the pattern ${JSON.stringify(source.slice(0, 100))} cannot be run in linear time`
    }
  )
}
