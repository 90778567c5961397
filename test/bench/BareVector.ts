/**
 * The direction of a text by its trigrams, and how near two directions are, as one would write it where nobody else's vectors come:
 * numbers in a typed array, never a text.
 */
import { trigramsOf, wordsOf } from "../../src/memory/Trigram.ts"

export interface Direction {
  /** From -31 to 31. */
  readonly numbers: Int8Array
  /** The sum of their squares. */
  readonly square: number
}

const dimensions = 128
const largest_number = 31

/** FNV-1a, 32 bits. */
const hashed = (hash: number, code: number): number => Math.imul(hash ^ code, 0x01000193)
const none = 0x811c9dc5 | 0

const place = (sums: Int32Array, hash: number): void => {
  sums[(hash >>> 0) % dimensions]! += ((hash >>> 16) & 1) === 0 ? 1 : -1
}

/** Each trigram of letters and digits of ASCII once, as a number. */
const addAscii = (sums: Int32Array, words: ReadonlyArray<string>): void => {
  const known = new Set<number>()
  const space = 32
  for (const word of words) {
    let a = space
    let b = space
    for (let i = 0; i <= word.length; i++) {
      const c = i === word.length ? space : word.charCodeAt(i)
      const trigram = (a << 14) | (b << 7) | c
      if (!known.has(trigram)) {
        known.add(trigram)
        place(sums, hashed(hashed(hashed(none, a), b), c))
      }
      a = b
      b = c
    }
  }
}

const addAny = (sums: Int32Array, text: string): void => {
  for (const trigram of trigramsOf(text)) {
    let hash = none
    for (const character of trigram) hash = hashed(hash, character.codePointAt(0)!)
    place(sums, hash)
  }
}

const beyond_ascii = /[^\0-\x7f]/

/** Undefined of a text without words. */
export const directionOf = (text: string): Direction | undefined => {
  const sums = new Int32Array(dimensions)
  if (beyond_ascii.test(text)) addAny(sums, text)
  else addAscii(sums, wordsOf(text))
  let largest = 0
  for (const each of sums) largest = Math.max(largest, Math.abs(each))
  if (largest === 0) return undefined
  const numbers = new Int8Array(dimensions)
  let square = 0
  for (let i = 0; i < dimensions; i++) {
    const number = Math.round((sums[i]! / largest) * largest_number)
    numbers[i] = number
    square += number * number
  }
  return { numbers, square }
}

/** The cosine, 0 where it is negative. */
export const nearness = (a: Direction, b: Direction): number => {
  let product = 0
  for (let i = 0; i < dimensions; i++) product += a.numbers[i]! * b.numbers[i]!
  return product <= 0 ? 0 : product / Math.sqrt(a.square * b.square)
}
