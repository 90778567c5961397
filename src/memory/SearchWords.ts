/**
 * The words by which searches find a memory: in lower case, without the most common English words, and with plurals reduced to
 * the singular.
 */
import { wordsOf } from "./Trigram.ts"

/** The greatest numbers of words in one row's index, and in one query. */
const row_words_max = 200
export const query_words_max = 12
const word_units_max = 40

const common = new Set(
  (
    "a an and are s t as at be been but by can could did do does for from had has have he her his how i if in into is it its " +
    "me my no not of on or our she should so than that the their them then there they this to up us was we were what " +
    "when where which who why will with would you your s t"
  ).split(" ")
)

const singular = (word: string): string => {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`
  return word.length > 3 && word.endsWith("s") && !/(?:ss|us|is)$/.test(word)
    ? word.slice(0, -1)
    : word
}

const found = (text: string, words_max: number): ReadonlyArray<string> => {
  const words = new Set<string>()
  // A letter and its mark are one word's, in whichever way they are written.
  for (const word of wordsOf(text.normalize())) {
    if (common.has(word)) continue
    words.add(singular(word.slice(0, word_units_max)))
    if (words.size === words_max) break
  }
  return [...words]
}

/** The search words of a row: each once, in the order of the text, at most 200. */
export const rowWords = (text: string): ReadonlyArray<string> => found(text, row_words_max)

/** The search words of a query: the 12 longest, because long words distinguish texts better. */
export const queryWords = (text: string): ReadonlyArray<string> =>
  found(text, row_words_max)
    .toSorted((a, b) => b.length - a.length)
    .slice(0, query_words_max)
