/**
 * Vectors of texts: the local one, the form in which a row keeps one, and how near two are.
 */
import { trigramsOf } from "./Trigram.ts"

const dimensions = 128
const dimensions_max = 4_096

/** FNV-1a, 32 bits. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (const character of text) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0
  }
  return hash
}

/** Each trigram adds or takes one at a place that follows from its hash. */
export const localVector = (text: string): ReadonlyArray<number> => {
  const vector = Array.from({ length: dimensions }, () => 0)
  for (const trigram of trigramsOf(text)) {
    const hash = hashOf(trigram)
    const place = hash % dimensions
    vector[place] = (vector[place] ?? 0) + ((hash >>> 16) % 2 === 0 ? 1 : -1)
  }
  return vector
}

/** A number from -31 to 31 is one of these characters; 0 is the middle one. */
const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+"
const middle = 31

/** The vector's direction, one character a number. Undefined of one that has none, or is too long. */
export const packVector = (vector: ReadonlyArray<number>): string | undefined => {
  const largest = vector.reduce((most, each) => Math.max(most, Math.abs(each)), 0)
  if (vector.length > dimensions_max || largest === 0 || !Number.isFinite(largest)) return undefined
  return vector.map((each) => digits[Math.round((each / largest) * middle) + middle]).join("")
}

/** The number of each character, by its code. */
const numbers = new Int8Array(128).fill(-middle)
for (const [number, digit] of [...digits].entries()) numbers[digit.charCodeAt(0)] = number - middle

/** A character that is no digit counts as the first one. */
const numberAt = (packed: string, i: number): number => numbers[packed.charCodeAt(i)] ?? -middle

/** The cosine of two packed vectors, 0 where it is negative or their lengths differ. */
export const nearness = (a: string, b: string): number => {
  if (a.length !== b.length) return 0
  let product = 0
  let ofLeft = 0
  let ofRight = 0
  for (let i = 0; i < a.length; i++) {
    const x = numberAt(a, i)
    const y = numberAt(b, i)
    product += x * y
    ofLeft += x * x
    ofRight += y * y
  }
  return product <= 0 ? 0 : product / Math.sqrt(ofLeft * ofRight)
}
