/**
 * A text as it may stand in stored values, so that a search finds it in any of them: it may have been written as JSON, and
 * that as JSON again, each of which puts backslashes before quotes and backslashes, and some writers escape whatever is not
 * ASCII. So both sides of a comparison are in lower case and without backslashes.
 */

const escapedUnits = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`
  ).join("")

const jsonOf = (text: string): string => JSON.stringify(text).slice(1, -1)

const asciiJsonOf = (text: string): string =>
  Array.from(jsonOf(text), (each) => (each > "\u007f" ? escapedUnits(each) : each)).join("")

/** Fewer would be found in any digest. */
const hex_bytes_min = 4

/** The UTF-8 in hexadecimal digits, in lower case. */
const hexOf = (text: string): string => {
  const bytes = new TextEncoder().encode(text)
  return bytes.length < hex_bytes_min
    ? text
    : Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
}

const capitalised = (text: string): string =>
  text.toLowerCase().replaceAll(/\p{L}+/gu, (word) => word.charAt(0).toUpperCase() + word.slice(1))

/** Letters with marks as one character each, and as two: macOS takes them apart. */
const compositionsOf = (text: string): ReadonlyArray<string> => [
  text,
  text.normalize("NFC"),
  text.normalize("NFD")
]

/**
 * In the cases that a name may have: bytes are compared as they are, and a database's lower case may leave letters that are
 * not ASCII as they are.
 */
const formsOf = (text: string): ReadonlyArray<string> => {
  const whole = text.normalize()
  const cases = [text, whole.toLowerCase(), whole.toUpperCase(), capitalised(whole)]
  return cases
    .flatMap(compositionsOf)
    .flatMap((each) => [each, jsonOf(each), asciiJsonOf(each), hexOf(each)])
}

const distinct = (forms: ReadonlyArray<string>): ReadonlyArray<string> =>
  // No text of the database has a NUL, and every text has an empty one.
  [...new Set(forms)].filter((form) => form !== "" && !form.includes("\0"))

const unescaped = (text: string): string => text.replaceAll("\\", "")

/** What to look for in texts without their backslashes, in either case. None of a text of backslashes alone. */
export const soughtTexts = (text: string): ReadonlyArray<string> =>
  distinct(formsOf(text).map(unescaped))

/** What to look for in bytes, as texts of which they are the UTF-8. */
export const soughtBytes = (text: string): ReadonlyArray<string> =>
  distinct([...formsOf(text), ...compositionsOf(text).map((each) => hexOf(each).toUpperCase())])

/** Does a stored text hold what is sought? */
export const holdsText = (stored: string, sought: ReadonlyArray<string>): boolean => {
  const among = unescaped(stored.toLowerCase())
  return sought.some((form) => among.includes(form.toLowerCase()))
}
