/**
 * Whether a text repeats another one. Trigrams alone cannot decide this: "order 1003 is paid" and "order 1004 is not paid" are
 * similar. So texts with different numbers or different negations are never duplicates.
 */
import { comparedText, findCanonical } from "./CanonicalText.ts"
import { similarityOf, trigramsOfWords, wordsOf } from "./Trigram.ts"

/** A text with at least this similarity to another one repeats it. */
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

/** A text, prepared for comparisons. */
export class ComparableText {
  readonly words: string
  /** The words of the text that contain digits or are negations, in order. */
  readonly marks: string
  readonly #words: ReadonlyArray<string>
  #trigrams: ReadonlySet<string> | undefined

  constructor(text: string) {
    const words = wordsOf(text.normalize())
    this.#words = words
    this.words = words.join(" ")
    this.marks = words.filter((word) => digit.test(word) || negations.has(word)).join(" ")
  }

  /** Computed at the first use, because for most texts comparing the marks is enough. */
  get trigrams(): ReadonlySet<string> {
    return (this.#trigrams ??= trigramsOfWords(this.#words))
  }
}

export const comparableText = (text: string): ComparableText => new ComparableText(text)

/** Whether one text repeats the other. A text without words is never a duplicate. */
export const isDuplicate = (a: ComparableText, b: ComparableText): boolean =>
  a.marks === b.marks &&
  a.words !== "" &&
  (a.words === b.words || similarityOf(a.trigrams, b.trigrams) >= duplicate_similarity)

/** Whether the text as a whole, or a passage of it, repeats the known text, and the text has no other numbers or negations. */
export const holds = (text: ComparableText, known: ComparableText): boolean =>
  isDuplicate(text, known) ||
  (text.marks === known.marks &&
    known.words !== "" &&
    findCanonical(text.words, [
      comparedText({ name: "", text: known.words, threshold: duplicate_similarity })
    ]) !== undefined)
