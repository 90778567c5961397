/**
 * Whether a text says again what another one says. Trigrams alone do not tell: "order 1003 is paid" and "order 1004 is not
 * paid" are similar. So texts with different numbers, or of which one negates, are never duplicates.
 */
import { comparedText, findCanonical } from "./CanonicalText.ts"
import { similarityOf, trigramsOfWords, wordsOf } from "./Trigram.ts"

/** From this similarity on a text repeats another. */
const duplicate_similarity = 0.85

const negations = new Set([
  "not",
  "no",
  "never",
  "none",
  "nobody",
  "nothing",
  "without",
  "cannot",
  "neither",
  "nor",
  "except",
  "unless",
  "t"
])
const digit = /\p{Nd}/u

/** A text, with what each comparison needs of it. */
export class ComparableText {
  readonly words: string
  /** Its words with digits and its negations, in order. */
  readonly marks: string
  readonly #words: ReadonlyArray<string>
  #trigrams: ReadonlySet<string> | undefined

  constructor(text: string) {
    const words = wordsOf(text.normalize())
    this.#words = words
    this.words = words.join(" ")
    this.marks = words.filter((word) => digit.test(word) || negations.has(word)).join(" ")
  }

  /** Made when first asked for: of most texts the marks are enough. */
  get trigrams(): ReadonlySet<string> {
    return (this.#trigrams ??= trigramsOfWords(this.#words))
  }
}

export const comparableText = (text: string): ComparableText => new ComparableText(text)

/** A text without words is a duplicate of none. */
export const isDuplicate = (a: ComparableText, b: ComparableText): boolean =>
  a.marks === b.marks &&
  a.words !== "" &&
  (a.words === b.words || similarityOf(a.trigrams, b.trigrams) >= duplicate_similarity)

/** Does the text say what the known one says, as a whole or in a passage, and no other number beside it? */
export const holds = (text: ComparableText, known: ComparableText): boolean =>
  isDuplicate(text, known) ||
  (text.marks === known.marks &&
    known.words !== "" &&
    findCanonical(text.words, [
      comparedText({ name: "", text: known.words, threshold: duplicate_similarity })
    ]) !== undefined)
