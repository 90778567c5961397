/**
 * The places of strings, names and numbers in a JSON text that is not parsed.
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
