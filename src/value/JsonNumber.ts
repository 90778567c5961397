/**
 * Numbers of JSON as decimals. JSON has numbers of any length and a program has doubles, so 9007199254740993 is read as
 * 9007199254740992. A number that would change so is refused, or carried as its own text.
 */

/** A number that `JSON.stringify` writes as it was read. The library's types do not have it yet. */
export interface RawNumber {
  readonly rawJSON: string
}

const { isRawJSON, parse, rawJSON } = JSON as unknown as {
  readonly isRawJSON: (value: unknown) => value is RawNumber
  readonly rawJSON: (text: string) => RawNumber
  readonly parse: (
    text: string,
    reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown
  ) => unknown
}

/** Whether the value is a number that is carried as its text. */
export const isRawNumber = (value: object): value is RawNumber =>
  // Few objects have no prototype, and this is asked of all (bench row `step`).
  Object.getPrototypeOf(value) === null && isRawJSON(value)

/** A number of at most so many digits, without an exponent, is what its double is written as again. */
const exact_units_max = 15

const zero = 48
const parts = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

interface Parts {
  /** Without zeros at either end; empty = the number is 0. */
  readonly digits: string
  /** The number is its digits times ten to the power of this. */
  readonly exponent: number
}

/** Loops, because a pattern for zeros at the end takes quadratic time. */
const partsOf = (text: string): Parts | undefined => {
  const found = parts.exec(text)
  if (found === null) return undefined
  const [, whole = "", fraction = "", power = "0"] = found
  const all = whole + fraction
  let begin = 0
  while (all.charCodeAt(begin) === zero) begin++
  let end = all.length
  while (end > begin && all.charCodeAt(end - 1) === zero) end--
  return begin === end
    ? { digits: "", exponent: 0 }
    : {
        digits: all.slice(begin, end),
        exponent: Number(power) - fraction.length + all.length - end
      }
}

/**
 * Whether a JSON number says the same decimal as the double that it is read as, by that double's shortest text: 1.0, 1e2 and 0.10
 * do, 9007199254740993, 0.1000000000000000055511151231257827 and 1e400 do not. A text that is no number counts as exact: a parser
 * refuses it.
 */
export const isExactNumber = (text: string): boolean => {
  if (text.length <= exact_units_max && !/e/i.test(text)) return true
  const written = String(Number(text))
  if (written === text) return true
  const given = partsOf(text)
  if (given === undefined) return true
  const kept = partsOf(written)
  return kept !== undefined && kept.digits === given.digits && kept.exponent === given.exponent
}

/** Parses a JSON text whose bounds were checked. Numbers that would change are carried as their texts. Throws as JSON.parse. */
export const parseExactly = (text: string): unknown =>
  parse(text, (_, value, { source }) =>
    typeof value === "number" && source !== undefined && !isExactNumber(source)
      ? rawJSON(source)
      : value
  )

/** The value with numbers in the place of those that are carried as their text, for a check of its shape. */
export const rounded = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (isRawNumber(value)) return Number(value.rawJSON)
  if (Array.isArray(value)) return value.map(rounded)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, rounded(member)]))
}
