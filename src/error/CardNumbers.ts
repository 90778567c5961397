/**
 * Finds numbers of payment cards in a text: 13 to 19 digits, grouped or not, whose check digit is correct. The time is
 * linear in the length of the text.
 */
import type { TextPlace } from "./TextPlace.ts"

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
