/**
 * JSON texts that are not parsed: the places of their strings, names and numbers, and numbers as decimals. JSON has numbers of any
 * length and a program has doubles, so 9007199254740993 is read as 9007199254740992. A number that would change so is refused, or
 * carried as its own text.
 */
import { Result } from "effect"

export const quote = 34
const backslash = 92

/** The index of the quote that closes the string which begins at `from`; the text's length if there is none. */
export const endOfString = (text: string, from: number): number => {
  for (let end = text.indexOf('"', from + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return end
  }
  return text.length
}

/** The index of the next character that is not white space. */
export const skipWhitespace = (text: string, from: number): number => {
  let at = from
  for (let unit = text.charCodeAt(at); ; unit = text.charCodeAt(++at)) {
    if (unit !== 32 && unit !== 10 && unit !== 13 && unit !== 9) return at
  }
}

/** A member's name with its escapes decoded, because one name has several spellings; undefined if it is not a string. */
export const nameOf = (text: string, from: number, end: number): string | undefined => {
  const raw = text.slice(from + 1, end)
  if (!raw.includes("\\")) return raw
  const read = Result.try(() => JSON.parse(`"${raw}"`) as string)
  return Result.isSuccess(read) ? read.success : undefined
}

/** Whether a number may contain this unit after its first one. */
const inNumber = (unit: number): boolean =>
  (unit >= 48 && unit <= 57) ||
  unit === 46 ||
  unit === 43 ||
  unit === 45 ||
  unit === 69 ||
  unit === 101

export const endOfNumber = (text: string, from: number): number => {
  let end = from + 1
  while (inNumber(text.charCodeAt(end))) end++
  return end
}

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

/**
 * The JSON value with each text, number, boolean and null replaced by what `leaf` makes of it; so is a number that is carried as
 * its text. `membersOf` gives the members of an object that are kept, under their new names; absent = all, as they are.
 */
export const mapLeaves = (
  value: unknown,
  leaf: (value: unknown) => unknown,
  membersOf: (value: object) => ReadonlyArray<readonly [string, unknown]> = Object.entries
): unknown => {
  if (typeof value !== "object" || value === null || isRawNumber(value)) return leaf(value)
  if (Array.isArray(value)) return value.map((item) => mapLeaves(item, leaf, membersOf))
  // From entries, so that a member with the name `__proto__` stays a member.
  return Object.fromEntries(
    membersOf(value).map(([name, member]) => [name, mapLeaves(member, leaf, membersOf)])
  )
}

/** The value with numbers in the place of those that are carried as their text, for a check of its shape. */
export const rounded = (value: unknown): unknown =>
  mapLeaves(value, (leaf) =>
    typeof leaf === "object" && leaf !== null ? Number((leaf as RawNumber).rawJSON) : leaf
  )

/** A text without a match has no number to hide, and is not searched. */
const likely = /[0-9.]{16}|[0-9][eE]/

export class HiddenNumbers {
  readonly #mark: string
  readonly #members: ReadonlySet<string>
  readonly #hidden: RegExp

  /** `mark`: letters, digits and `-`, which nobody outside can guess. `members`: in whose values numbers are hidden. */
  constructor(mark: string, members: Iterable<string>) {
    this.#mark = `${mark}:`
    this.#members = new Set(members)
    this.#hidden = new RegExp(`"${mark}:([-+.eE0-9]+)"`, "g")
  }

  /** The JSON text, or several of them one after the other, with the numbers hidden. The same text where there are none. */
  hide(text: string): string {
    if (!likely.test(text)) return text
    let out = ""
    let from = 0
    let depth = 0
    /** The depth of the object or list in which numbers are hidden; 0 = none. */
    let inside = 0
    let isNext = false
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      if (unit === quote) {
        const end = endOfString(text, at)
        const isName = text.charCodeAt(skipWhitespace(text, end + 1)) === 58
        isNext = isName && inside === 0 && this.#members.has(nameOf(text, at, end) ?? "")
        at = end
      } else if (unit === 123 || unit === 91) {
        depth++
        if (isNext) inside = depth
        isNext = false
      } else if (unit === 125 || unit === 93) {
        if (inside === depth) inside = 0
        depth--
      } else if (unit >= 48 && unit <= 57) {
        const end = endOfNumber(text, at)
        const begin = text.charCodeAt(at - 1) === 45 ? at - 1 : at
        const number = text.slice(begin, end)
        if (inside > 0 && !isExactNumber(number)) {
          out += `${text.slice(from, begin)}"${this.#mark}${number}"`
          from = end
        }
        at = end - 1
      }
    }
    return from === 0 ? text : out + text.slice(from)
  }

  /** The JSON text with the hidden numbers in their places again. */
  restored(text: string): string {
    return text.includes(this.#mark) ? text.replace(this.#hidden, "$1") : text
  }

  /** The value with the hidden numbers as numbers that are carried as their text. */
  revealed<A>(value: A): A {
    return mapLeaves(value, (leaf) =>
      typeof leaf === "string" && leaf.startsWith(this.#mark)
        ? parseExactly(leaf.slice(this.#mark.length))
        : leaf
    ) as A
  }
}
