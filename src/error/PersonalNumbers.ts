/**
 * Finds numbers of people in a text, in time linear in its length: those of payment cards (13 to 19 digits, grouped or not, whose
 * check digit is correct), and phone numbers as people write them: with a country code, or in groups. An ungrouped run of digits
 * without a country code is taken for no phone number. Only plausible candidates are passed to the phone library.
 */
import { phonePlans } from "./NumberPlans.ts"

/** A range `[from, to)` of a text, in UTF-16 units. */
export interface TextPlace {
  readonly from: number
  readonly to: number
}

/** Digits in groups, as on a card. */
const rows = /\d+(?:[ -]\d+)*/g
const digits_min = 13
const digits_max = 19

/** What may precede the first group and follow the last. A decimal point or comma may not: the digits are a fraction. */
const begins = /[^\p{L}\p{N}.,-]|^$/u
const ends = /^(?:[^\p{L}\p{N}.,-]|[.,](?!\d)|$)/u

/** The digit sum of twice the digit. */
const doubled = (digit: number): number => (digit < 5 ? 2 * digit : 2 * digit - 9)

/** Prefix sums of Luhn digits, so that the check of any range of digits is one subtraction. */
class Digits {
  readonly digits: string
  /** Before each place, and behind the last one: digits at even places are doubled. */
  private readonly evens: ReadonlyArray<number>
  /** The same where those at odd places are. */
  private readonly odds: ReadonlyArray<number>
  /** The length of the run of equal digits that ends at each place. */
  private readonly same: ReadonlyArray<number>

  constructor(digits: string) {
    this.digits = digits
    const [evens, odds, same]: [Array<number>, Array<number>, Array<number>] = [[0], [0], []]
    let [even, odd, run] = [0, 0, 0]
    for (let i = 0; i < digits.length; i++) {
      const digit = digits.charCodeAt(i) - 48
      const twice = doubled(digit)
      even += i % 2 === 0 ? twice : digit
      odd += i % 2 === 0 ? digit : twice
      run = digits[i] === digits[i - 1] ? run + 1 : 1
      evens.push(even)
      odds.push(odd)
      same.push(run)
    }
    this.evens = evens
    this.odds = odds
    this.same = same
  }

  /** Luhn's check (ISO/IEC 7812-1, annex B) of the digits in `[from, to)`. Repetitions of one digit are not a card. */
  isCard(from: number, to: number): boolean {
    const begins = this.digits.charAt(from)
    if (begins < "2" || begins > "6") return false
    const sums = to % 2 === 0 ? this.evens : this.odds
    const sum = (sums[to] ?? 0) - (sums[from] ?? 0)
    return sum % 10 === 0 && (this.same[to - 1] ?? 0) < to - from
  }
}

interface Group extends TextPlace {
  /** The range of its digits among all digits of the row. */
  readonly first: number
  readonly end: number
}

const groupsOf = (text: string, from: number, written: string): ReadonlyArray<Group> => {
  let first = 0
  const groups = [...written.matchAll(/\d+/g)].map(({ 0: { length }, index }): Group => {
    const group = { from: from + index, to: from + index + length, first, end: first + length }
    first += length
    return group
  })
  const low = groups.findIndex((group) => begins.test(text.slice(group.from - 1, group.from)))
  const high = groups.findLastIndex((group) => ends.test(text.slice(group.to, group.to + 2)))
  return low === -1 ? [] : groups.slice(low, high + 1)
}

const cardsInRow = (text: string, from: number, written: string): ReadonlyArray<TextPlace> => {
  const groups = groupsOf(text, from, written)
  const digits = new Digits(written.replace(/\D/g, ""))
  const found: Array<TextPlace> = []
  let covered = 0
  for (const [index, { first, from: begin }] of groups.entries()) {
    if (first < covered) continue
    // A group has at least one digit.
    const last = groups
      .slice(index, index + digits_max)
      .findLast(
        ({ end }) =>
          end - first >= digits_min && end - first <= digits_max && digits.isCard(first, end)
      )
    if (last === undefined) continue
    found.push({ from: begin, to: last.to })
    covered = last.end
  }
  return found
}

export const cardNumbers = (text: string): ReadonlyArray<TextPlace> =>
  [...text.matchAll(rows)].flatMap(({ 0: written, index }) =>
    written.length < digits_min ? [] : cardsInRow(text, index, written)
  )

/** Groups of digits with the separators that a phone number may have; a plus begins another row. */
const phone_rows = /(?:\(?\+[ (]{0,2}|\()?\d+(?:[ ()[\]./\u2010-\u2015-]{1,4}\d+)*/g

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
const phone_digits_min = 7
const phone_digits_max = 16
/** How many groups at the end of a row may not belong to an international number at its beginning. */
const stray_groups_max = 2

interface PhoneGroup extends TextPlace {
  readonly digits: string
}

const isNumber = (international: string): boolean =>
  phonePlans().parsePhoneNumberFromString(`+${international}`)?.isValid() === true

/** A row of groups, from which numbers are read. */
class Row {
  readonly text: string
  readonly from: number
  readonly groups: ReadonlyArray<PhoneGroup>

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
  private at(place: number): PhoneGroup {
    return this.groups[place] ?? { digits: "", from: this.from, to: this.from }
  }

  get isInternational(): boolean {
    return this.text.slice(this.from, this.at(0).from).includes("+")
  }

  digits(first: number, last: number): string {
    let digits = ""
    for (let i = first; i <= last && digits.length <= phone_digits_max; i++) {
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
      if (count > phone_digits_max || isAnother) break
      last++
    }
    for (let tried = 0; tried <= stray_groups_max && last >= first; tried++, last--) {
      const digits = this.digits(first, last)
      if (digits.length < phone_digits_min) return undefined
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
  [...text.matchAll(phone_rows)].flatMap(({ 0: written, index }) =>
    written.length < phone_digits_min ? [] : new Row(text, index, written).numbers()
  )
