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

/** The digit sum of twice each digit. */
const doubled = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]

/** Prefix sums of Luhn digits, so that the check of any range of digits is one subtraction. */
class Digits {
  readonly digits: string
  /** `sums[0]`: digits at even places are doubled; `sums[1]`: those at odd ones. */
  private readonly sums: readonly [ReadonlyArray<number>, ReadonlyArray<number>]
  /** The length of the run of equal digits that ends at each place. */
  private readonly same: ReadonlyArray<number>

  constructor(digits: string) {
    this.digits = digits
    const [even, odd, same]: [Array<number>, Array<number>, Array<number>] = [[0], [0], []]
    for (let i = 0; i < digits.length; i++) {
      const digit = digits.charCodeAt(i) - 48
      const [plain, twice] = [digit, doubled[digit]!]
      even.push(even[i]! + (i % 2 === 0 ? twice : plain))
      odd.push(odd[i]! + (i % 2 === 0 ? plain : twice))
      same.push(i > 0 && digits[i] === digits[i - 1] ? same[i - 1]! + 1 : 1)
    }
    this.sums = [even, odd]
    this.same = same
  }

  /** Luhn's check (ISO/IEC 7812-1, annex B) of the digits in `[from, to)`. Repetitions of one digit are not a card. */
  isCard(from: number, to: number): boolean {
    if (this.digits[from]! < "2" || this.digits[from]! > "6") return false
    const sums = this.sums[to % 2]!
    return (sums[to]! - sums[from]!) % 10 === 0 && this.same[to - 1]! < to - from
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
  let [low, high] = [0, groups.length]
  while (low < high && !begins.test(text.slice(groups[low]!.from - 1, groups[low]!.from))) low++
  while (low < high && !ends.test(text.slice(groups[high - 1]!.to, groups[high - 1]!.to + 2)))
    high--
  return groups.slice(low, high)
}

const cardsInRow = (text: string, from: number, written: string): ReadonlyArray<TextPlace> => {
  const groups = groupsOf(text, from, written)
  const digits = new Digits(written.replace(/\D/g, ""))
  const found: Array<TextPlace> = []
  let end = 0
  for (let i = 0; i < groups.length; i++) {
    const group = groups[i]!
    while (end < groups.length && groups[end]!.end - group.first <= digits_max) end++
    for (let last = end - 1; last >= i; last--) {
      const { end: behind, to } = groups[last]!
      if (behind - group.first < digits_min) break
      if (!digits.isCard(group.first, behind)) continue
      found.push({ from: group.from, to })
      i = last
      break
    }
  }
  return found
}

export const cardNumbers = (text: string): ReadonlyArray<TextPlace> =>
  [...text.matchAll(rows)].flatMap(({ 0: written, index }) =>
    written.length < digits_min ? [] : cardsInRow(text, index, written)
  )
