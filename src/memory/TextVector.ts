/**
 * Vectors of texts: a local embedding, a vector's direction, the packed form that a row stores, and how near two directions are.
 */
import { isAscii, trigramsOf, wordsOf } from "./Trigram.ts"

const dimensions = 128
const dimensions_max = 4_096

/** One step of the 32-bit FNV-1a hash, for the next character. */
const hashed = (hash: number, code: number): number => Math.imul(hash ^ code, 0x01000193)
const nothing_hashed = 0x811c9dc5

/** Adds or subtracts 1 in the dimension that the trigram's hash selects. */
const count = (vector: Array<number>, hash: number): void => {
  const place = (hash >>> 0) % dimensions
  vector[place] = (vector[place] ?? 0) + (((hash >>> 16) & 1) === 0 ? 1 : -1)
}

const space = 32

/** Like `countAny`, for ASCII texts: trigrams are numbers with seven bits for each character, so no strings are made. */
const countAscii = (vector: Array<number>, words: ReadonlyArray<string>): void => {
  const known = new Set<number>()
  for (const word of words) {
    let first = space
    let second = space
    for (let i = 0; i <= word.length; i++) {
      const third = i === word.length ? space : word.charCodeAt(i)
      const trigram = (first << 14) | (second << 7) | third
      if (!known.has(trigram)) {
        known.add(trigram)
        count(vector, hashed(hashed(hashed(nothing_hashed, first), second), third))
      }
      first = second
      second = third
    }
  }
}

const countAny = (vector: Array<number>, text: string): void => {
  for (const trigram of trigramsOf(text)) {
    let hash = nothing_hashed
    for (const character of trigram) hash = hashed(hash, character.codePointAt(0) ?? 0)
    count(vector, hash)
  }
}

const zeros = Array.from({ length: dimensions }, () => 0)

/** The local embedding of a text, made from its trigrams, each counted once. */
export const localVector = (text: string): ReadonlyArray<number> => {
  const vector = zeros.slice()
  if (isAscii(text)) countAscii(vector, wordsOf(text))
  else countAny(vector, text)
  return vector
}

/** The characters that stand for the numbers from -31 to 31; the middle one stands for 0. */
const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+"
const middle = 31

/** A vector's direction, in whole numbers from -31 to 31. */
export interface Direction {
  readonly numbers: Int8Array
  /** The sum of the squares of `numbers`. */
  readonly square: number
}

const directionOf = (numbers: Int8Array): Direction => {
  let square = 0
  for (const each of numbers) square += each * each
  return { numbers, square }
}

/** The direction of a vector; undefined if the vector is zero, not finite, or too long. */
export const vectorDirection = (vector: ReadonlyArray<number>): Direction | undefined => {
  let largest = 0
  for (const each of vector) largest = Math.max(largest, Math.abs(each))
  if (vector.length > dimensions_max || largest === 0 || !Number.isFinite(largest)) return undefined
  const numbers = new Int8Array(vector.length)
  for (let i = 0; i < numbers.length; i++) {
    numbers[i] = Math.round(((vector[i] ?? 0) / largest) * middle)
  }
  return directionOf(numbers)
}

/** Packs a direction into a text with one character for each number. */
export const packDirection = ({ numbers }: Direction): string => {
  let packed = ""
  for (const each of numbers) packed += digits[each + middle] ?? ""
  return packed
}

/** The number for which each character stands, by character code. */
const numbers_of = new Int8Array(128).fill(-middle)
for (const [number, digit] of [...digits].entries()) {
  numbers_of[digit.charCodeAt(0)] = number - middle
}

/** Unpacks a direction. A character that stands for no number counts as -31. */
export const unpackDirection = (packed: string): Direction => {
  const numbers = new Int8Array(packed.length)
  for (let i = 0; i < packed.length; i++) {
    numbers[i] = numbers_of[packed.charCodeAt(i)] ?? -middle
  }
  return directionOf(numbers)
}

/** The cosine of the angle between two directions; 0 if it is negative or the lengths differ. */
export const nearness = (a: Direction, b: Direction): number => {
  const { numbers } = a
  const others = b.numbers
  if (numbers.length !== others.length) return 0
  let product = 0
  for (let i = 0; i < numbers.length; i++) product += (numbers[i] ?? 0) * (others[i] ?? 0)
  return product <= 0 ? 0 : product / Math.sqrt(a.square * b.square)
}
