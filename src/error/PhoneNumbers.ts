/**
 * Finds phone numbers in a text as people write them: with a country code, or in groups. An ungrouped run of digits without
 * a country code is not taken for one. The text is scanned once; only plausible candidates are passed to the phone library.
 */
import { phonePlans } from "./NumberPlans.ts"
import type { TextPlace } from "./TextPlace.ts"

/** Groups of digits with the separators that a phone number may have; a plus begins another row. */
const rows = /(?:\(?\+[ (]{0,2}|\()?\d+(?:[ ()[\]./\u2010-\u2015-]{1,4}\d+)*/g

/** Written like a phone number, but a date, a time or a range of pages. */
const no_number =
  /^\d{4}-\d\d-\d\d|\d{1,2}\/\d{1,2}\/(?:[12]\d)?\d\d|[12]\d{3}[-/]?[01]\d[-/]?[0-3]\d +[0-2]\d$|\d{1,5}-+\d{1,5} {0,4}\(\d{1,4}/

/** A letter, a percent sign or a currency beside the digits: they are not a phone number. */
const beside = /[%\p{Sc}\p{Script=Latin}]/u

const extension = /[ ,;]{0,2}(?:ext(?:n|ension)?|x|#)[ .:=]{0,2}\d{1,7}(?![\p{L}\p{N}])/iuy

/** Numbers without a country code are read as North American: those alone are written with hyphens and dots. */
const north_american = /^1?[2-9]\d\d[2-9]\d{6}$/

/** The group lengths of a North American number; needed where other groups of digits stand beside it. */
const groupings: ReadonlyArray<ReadonlyArray<number>> = [
  [3, 3, 4],
  [1, 3, 3, 4],
  [3, 7],
  [1, 3, 7]
]

/** E.164 allows 15 digits; a `(0)` that is dialled only within the country may stand among them. */
const digits_min = 7
const digits_max = 16
/** How many groups at the end of a row may not belong to an international number at its beginning. */
const stray_groups_max = 2

interface Group extends TextPlace {
  readonly digits: string
}

const isNumber = (international: string): boolean =>
  phonePlans().parsePhoneNumberFromString(`+${international}`)?.isValid() === true

/** A row of groups, from which numbers are read. */
class Row {
  readonly text: string
  readonly from: number
  readonly groups: ReadonlyArray<Group>

  constructor(text: string, from: number, written: string) {
    this.text = text
    this.from = from
    this.groups = [...written.matchAll(/\d+/g)].map(({ 0: digits, index }) => ({
      digits,
      from: from + index,
      to: from + index + digits.length
    }))
  }

  /** The group at this place of the row, of which there is one. */
  private at(place: number): Group {
    return this.groups[place] ?? { digits: "", from: this.from, to: this.from }
  }

  get isInternational(): boolean {
    return this.text.slice(this.from, this.at(0).from).includes("+")
  }

  digits(first: number, last: number): string {
    let digits = ""
    for (let i = first; i <= last && digits.length <= digits_max; i++) {
      digits += this.at(i).digits
    }
    return digits
  }

  /** The range of the groups with an extension behind them; undefined where their surroundings rule a phone number out. */
  place(first: number, last: number): TextPlace | undefined {
    const from = first === 0 ? this.from : this.at(first).from
    extension.lastIndex = this.at(last).to
    const to = extension.test(this.text) ? extension.lastIndex : this.at(last).to
    const isMore =
      (first > 0 && this.text[from - 1] === "-") || /^-\d/.test(this.text.slice(to, to + 2))
    const before = /^[(+]/.test(this.text.slice(from, from + 1))
      ? ""
      : this.text.slice(from - 1, from)
    const isOther = beside.test(before) || beside.test(this.text.slice(to, to + 1))
    return isMore || isOther || no_number.test(this.text.slice(from, to)) ? undefined : { from, to }
  }

  /** The last group of the international number that begins at this group. */
  international(first: number): number | undefined {
    let last = first
    let count = this.at(first).digits.length
    while (last + 1 < this.groups.length) {
      const [group, next] = [this.at(last), this.at(last + 1)]
      count += next.digits.length
      // An area code in brackets follows the country code; a bracket further on begins another number.
      const isAnother = last > first && /[(/]/.test(this.text.slice(group.to, next.from))
      if (count > digits_max || isAnother) break
      last++
    }
    for (let tried = 0; tried <= stray_groups_max && last >= first; tried++, last--) {
      const digits = this.digits(first, last)
      if (digits.length < digits_min) return undefined
      const mayBe = !digits.startsWith("1") || north_american.test(digits)
      if (mayBe && this.place(first, last) !== undefined && isNumber(digits)) return last
    }
    return undefined
  }

  /** The last group of the North American number that begins at this group. */
  national(first: number): number | undefined {
    const lengths = groupings.find((each) =>
      each.every((length, i) => this.groups[first + i]?.digits.length === length)
    )
    const end = this.groups.length - 1
    const last = lengths !== undefined ? first + lengths.length - 1 : first === 0 ? end : undefined
    if (last === undefined) return undefined
    const digits = this.digits(first, last)
    if (!north_american.test(digits) || this.place(first, last) === undefined) return undefined
    const written = this.text.slice(this.at(first).from, this.at(last).to)
    const isGrouped = /\d[ ().-]+\d/.test(written)
    return isGrouped && isNumber(digits.length === 11 ? digits : `1${digits}`) ? last : undefined
  }

  /** The last group of the phone number that begins at this group. */
  endOf(first: number): number | undefined {
    if (first === 0 && this.isInternational) return this.international(0) ?? this.national(0)
    // The North American prefix for international calls.
    const isPrefix = this.at(first).digits === "011" && first + 1 < this.groups.length
    return (isPrefix ? this.international(first + 1) : undefined) ?? this.national(first)
  }

  numbers(): ReadonlyArray<TextPlace> {
    const found: Array<TextPlace> = []
    for (let first = 0; first < this.groups.length; first++) {
      const last = this.endOf(first)
      if (last === undefined) continue
      const place = this.place(first, last)
      if (place !== undefined) found.push(place)
      first = last
    }
    return found
  }
}

export const phoneNumbers = (text: string): ReadonlyArray<TextPlace> =>
  [...text.matchAll(rows)].flatMap(({ 0: written, index }) =>
    written.length < digits_min ? [] : new Row(text, index, written).numbers()
  )
