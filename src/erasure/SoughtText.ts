/**
 * The forms in which a text may be stored, so that a search finds it in any of them. The text may have been written as JSON, and
 * that again as JSON, each of which puts backslashes before quotes and backslashes; and some writers escape every character that
 * is not ASCII. So both sides of a comparison are put in lower case and stripped of backslashes.
 */

const escapedUnits = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`
  ).join("")

const jsonOf = (text: string): string => JSON.stringify(text).slice(1, -1)

const asciiJsonOf = (text: string): string =>
  Array.from(jsonOf(text), (each) => (each > "\u007f" ? escapedUnits(each) : each)).join("")

/** A shorter byte sequence is not searched for in hexadecimal, because it would be found in almost any digest. */
const hex_bytes_min = 4

/** The text's UTF-8 in lower-case hexadecimal digits. */
const hexOf = (text: string): string => {
  const bytes = new TextEncoder().encode(text)
  return bytes.length < hex_bytes_min
    ? text
    : Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
}

const capitalised = (text: string): string =>
  text.toLowerCase().replaceAll(/\p{L}+/gu, (word) => word.charAt(0).toUpperCase() + word.slice(1))

/** The text with each accented letter as one character, and as two, which is how macOS writes them. */
const compositionsOf = (text: string): ReadonlyArray<string> => [
  text,
  text.normalize("NFC"),
  text.normalize("NFD")
]

/**
 * The name in several letter cases, because bytes are compared exactly, and a database's lower case may not change letters that
 * are not ASCII.
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

/** The forms to search for, without regard to case, in texts without their backslashes. Empty for a text of backslashes alone. */
export const soughtTexts = (text: string): ReadonlyArray<string> =>
  distinct(formsOf(text).map(unescaped))

/** The texts whose UTF-8 has to be searched for in bytes. */
export const soughtBytes = (text: string): ReadonlyArray<string> =>
  distinct([...formsOf(text), ...compositionsOf(text).map((each) => hexOf(each).toUpperCase())])

/** Whether a stored text contains one of the sought forms. */
export const holdsText = (stored: string, sought: ReadonlyArray<string>): boolean => {
  const among = unescaped(stored.toLowerCase())
  return sought.some((form) => among.includes(form.toLowerCase()))
}
