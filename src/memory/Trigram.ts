/**
 * The similarity of two texts by their trigrams, as PostgreSQL's extension pg_trgm computes it: each word is put in lower case,
 * with two spaces before it and one after it, and each sequence of three characters counts once. So the gateway and the
 * database's trigger agree.
 */

const word = /[\p{Alphabetic}\p{Nd}]+/gu
const ascii_word = /[a-z0-9]+/g

/** Lower case of a single character. PostgreSQL's lower case of a character is always one character. */
const lowered = (character: string): string => {
  const [first = character] = character.toLowerCase()
  return first
}

const beyond_ascii = /[^\0-\x7f]/

export const isAscii = (text: string): boolean => !beyond_ascii.test(text)

/** The words of a text in lower case, with repetitions. */
export const wordsOf = (text: string): ReadonlyArray<string> =>
  isAscii(text)
    ? (text.toLowerCase().match(ascii_word) ?? [])
    : (text.match(word) ?? []).map((found) => Array.from(found, lowered).join(""))

const surrogate = /[\ud800-\udfff]/

const addTrigrams = (to: Set<string>, each: string): void => {
  if (!surrogate.test(each)) {
    const padded = `  ${each} `
    for (let i = 0; i + 3 <= padded.length; i++) to.add(padded.slice(i, i + 3))
    return
  }
  const padded = ["", " ", " ", ...each, " "]
  for (let i = 1; i + 2 < padded.length; i++) {
    to.add(`${padded[i]}${padded[i + 1]}${padded[i + 2]}`)
  }
}

export const trigramsOfWords = (words: ReadonlyArray<string>): ReadonlySet<string> => {
  const trigrams = new Set<string>()
  for (const each of words) addTrigrams(trigrams, each)
  return trigrams
}

export const trigramsOf = (text: string): ReadonlySet<string> => trigramsOfWords(wordsOf(text))

/** How many trigrams both sets contain. */
export const sharedBy = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => {
  const [small, large] = a.size < b.size ? [a, b] : [b, a]
  let shared = 0
  for (const each of small) if (large.has(each)) shared++
  return shared
}

/** The shared trigrams divided by all trigrams, 0 to 1, in single precision as in the database; 0 if neither text has a trigram. */
export const similarityOf = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => {
  const shared = sharedBy(a, b)
  const all = a.size + b.size - shared
  return all === 0 ? 0 : Math.fround(shared / all)
}
