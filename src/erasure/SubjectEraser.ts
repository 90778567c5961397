/**
 * Decides what names a subject, and in which forms its name may be stored, for every store.
 */
import { names } from "../memory/Subject.ts"
import { wordsOf } from "../memory/Trigram.ts"
import type { RunEraser } from "./ErasedValue.ts"
import { hexOf, jsonForms } from "../error/KnownSecrets.ts"

/** A shorter name, such as `42`, also occurs in texts about others. So only a text that equals it names its subject. */
const word_units_min = 3

/** The eraser for a subject. `digest` is a keyed digest that returns 64 hex digits in lower case. */
export const subjectEraser = (subject: string, digest: (text: string) => string): RunEraser => {
  const isNamed = (text: string): boolean =>
    text === subject || (subject.length >= word_units_min && names(text, subject))
  return {
    whole: true,
    names: isNamed,
    digest,
    rename: (key) => (isNamed(key) ? `erased:${digest(key).slice(0, 32)}` : key)
  }
}

/** The eraser for a conversation as a whole, which names nobody: its id is replaced where it is one. */
export const conversationEraser = (
  conversation: string,
  digest: (text: string) => string
): RunEraser => ({
  whole: true,
  names: () => false,
  digest,
  rename: (key) => (key === conversation ? `erased:${digest(key).slice(0, 32)}` : key)
})

/**
 * Texts of which every text that names the subject contains one (see `soughtTexts`). They are made from the subject's longest
 * word, because the separators between its words may differ.
 */
export const candidateTexts = (subject: string): ReadonlyArray<string> => {
  const [longest = subject] = wordsOf(subject.normalize()).toSorted((a, b) => b.length - a.length)
  return soughtTexts(longest)
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/**
 * Whether the text contains one of these ids of runs or conversations. Ids are separated by characters that no id contains, or
 * they are UUIDs.
 */
export const holdsId = (text: string, ids: ReadonlySet<string>): boolean =>
  text.split(/[^A-Za-z0-9._:@~-]+/).some((word) => ids.has(word)) ||
  (text.match(uuid) ?? []).some((id) => ids.has(id))

/** A shorter byte sequence is not searched for in hexadecimal, because it would be found in almost any digest. */
const hex_bytes_min = 4

/** The text's UTF-8 in lower-case hexadecimal digits. */
const hexDigitsOf = (text: string): string => {
  const bytes = new TextEncoder().encode(text)
  return bytes.length < hex_bytes_min ? text : hexOf(bytes)
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
  return cases.flatMap(compositionsOf).flatMap((each) => {
    const [json = each, , ascii = each] = jsonForms(each)
    return [each, json, ascii, hexDigitsOf(each)]
  })
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
  distinct([
    ...formsOf(text),
    ...compositionsOf(text).map((each) => hexDigitsOf(each).toUpperCase())
  ])

/** Whether a stored text contains one of the sought forms. */
export const holdsText = (stored: string, sought: ReadonlyArray<string>): boolean => {
  const among = unescaped(stored.toLowerCase())
  return sought.some((form) => among.includes(form.toLowerCase()))
}
