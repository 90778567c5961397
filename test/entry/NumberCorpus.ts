/**
 * JSON numbers and texts that a program would alter if it just parsed them, and as many that it would not. Which is which is
 * decided by another arithmetic than the product's.
 */
import { BigDecimal } from "effect"
import { random } from "./HostileValues.ts"

const next = random(43)
const digits = (count: number): string =>
  Array.from({ length: count }, () => Math.floor(next() * 10)).join("")

const integers = Array.from({ length: 65 }, (_, power) => 2n ** BigInt(power)).flatMap((power) =>
  [-3n, -1n, 0n, 1n, 2n].flatMap((more) => [String(power + more), String(-(power + more))])
)
const decimals = Array.from({ length: 900 }, (_, n) => {
  const whole = n % 3 === 0 ? "0" : `${1 + Math.floor(next() * 9)}${digits(n % 12)}`
  return `${n % 2 === 0 ? "" : "-"}${whole}.${digits(1 + (n % 30))}`
})
const cents = Array.from({ length: 200 }, (_, n) => (n * 0.37).toFixed(2))
const exponents = Array.from({ length: 400 }, (_, n) => {
  const e = ["e", "E", "e+", "E-", "e-"][n % 5]!
  return `${1 + (n % 9)}${n % 2 === 0 ? "" : `.${digits(n % 19) || "0"}`}${e}${(n * 7) % 420}`
})
const odd = ["0", "-0", "1.0", "1e2", "0.10", "0e999999", "1e400", "-1e400", "1e-400", "5e-324"]

/** JSON texts of numbers: integers to 2^64, decimals to 30 digits, amounts of money, exponents. */
export const numbers: ReadonlyArray<string> = [
  ...integers,
  ...decimals,
  ...cents,
  ...exponents,
  ...odd,
  "9007199254740993",
  "0.1000000000000000055511151231257827",
  `1${"0".repeat(400)}`,
  "9".repeat(5_000)
]

/** Does the number stay what it is when a program reads and writes it? */
export const isKept = (text: string): boolean => {
  const value = Number(text)
  if (!Number.isFinite(value)) return false
  // Effect's decimals have no exponent of such a size for nothing.
  if (/^-?0+e/i.test(text)) return true
  return BigDecimal.equals(
    BigDecimal.fromStringUnsafe(text),
    BigDecimal.fromStringUnsafe(String(value))
  )
}

/** Texts in UTF-16 with half of a surrogate pair: alone, at either end, in the middle, in the wrong order. */
export const illFormed: ReadonlyArray<string> = [
  "\ud83d",
  "\udc4d",
  "\ud83d ends",
  "begins \udc4d",
  "in \ud800 the middle",
  "\udc4d\ud83d",
  "\ud83d\ud83d\udc4d"
]

/** Texts that look as if they were, and are not. */
export const wellFormed: ReadonlyArray<string> = [
  "👍",
  "\\ud83d",
  "a\\\\ud83d",
  "\ufffd",
  "\u0000",
  "é",
  "e\u0301",
  "\ufeff",
  "\u202e"
]
