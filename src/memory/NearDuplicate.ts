/**
 * Whether two texts say the same fact. No threshold of similarity decides this: by their trigrams the contracts of Anna Schmidt and
 * of Anna Schmitt are more alike than "Olga likes tea" and "Olga really likes tea". So every word has to be there, in its place,
 * and only a few English words that add nothing are left out. A synonym makes another fact, and so does another order.
 */
import { passage_words_min } from "./CanonicalText.ts"
import { singular } from "./SearchWords.ts"
import { wordsOf } from "./Trigram.ts"

const articles = new Set(["a", "an", "the"])
/** Words that only insist, except beside a negation: what is not really so may be so. */
const insisting = new Set("really truly actually indeed certainly definitely".split(" "))
const preamble = /^\s*(?:please\s+)?(?:remember|note)(?:\s+that\s|:)/i
/** Marks around a word. Other signs belong to it, such as those of `-5`, `$5`, `C++` and a question. */
const edges = /^[\p{Ps}\p{Pi}"'¡]+|[\p{Pe}\p{Pf}"'.,:;!…。、，！]+$/gu
/** Those of a number: in `5"`, `(500)` and `[1,2)` the other marks count. */
const edges_of_number = /[.,:;…。、，]+$/u

const bare = /^\w+$/
const digit = /\p{Nd}/u

const withoutEdges = (word: string): string => {
  if (bare.test(word)) return word
  return digit.test(word) ? word.replace(edges_of_number, "") : word.replaceAll(edges, "")
}

/** A word that is the same without its capital. Others are told apart by their case: `US`, `MW` and `mW`, `X7qa`. */
const capitalized = /^\p{Lu}[^\p{Lu}\p{Nd}]*\p{Ll}[^\p{Lu}\p{Nd}]*$/u

/** The word in the form that is compared. One with a capital may be a name, and keeps its ending. */
const compared = (word: string): string => {
  if (/^[a-z]+$/.test(word)) return singular(word)
  return capitalized.test(word) ? word.toLowerCase() : word
}

const negations = new Set(
  "not no never none nobody nothing without cannot neither nor except unless t".split(" ")
)

const factOf = (text: string): string => {
  const words = text
    .normalize()
    .replace(preamble, "")
    .replaceAll("’", "'")
    .replaceAll(/n't\b/gi, " not")
    .split(/\s+/)
    .map(withoutEdges)
    .filter((word) => word !== "")
  const negates = words.some((word) => negations.has(word.toLowerCase()))
  // A capital within the text makes an article a name, as in "vitamin A", and so does the end of the text, as in "option a".
  const isIdle = (word: string, at: number): boolean => {
    const plain = at === 0 ? word.toLowerCase() : word
    return articles.has(plain) ? at < words.length - 1 : !negates && insisting.has(plain)
  }
  return words
    .filter((word, at) => !isIdle(word, at))
    .map(compared)
    .join(" ")
}

/** A text, prepared for comparisons. What few of them need is computed at its first use. */
export class ComparableText {
  /** The words that matter, in the order of the text: equal for texts that say the same. Empty for a text without words. */
  readonly fact: string
  readonly #text: string
  #words: ReadonlyArray<string> | undefined

  constructor(text: string) {
    this.#text = text
    this.fact = factOf(text)
  }

  get words(): ReadonlyArray<string> {
    return (this.#words ??= wordsOf(this.#text.normalize()))
  }

  /** The words of the text that contain digits or are negations, in order. */
  get marks(): string {
    return this.words.filter((word) => digit.test(word) || negations.has(word)).join(" ")
  }

  /** Whether a passage of the text is the other text, word by word; never the whole text. */
  contains({ words }: ComparableText): boolean {
    return (
      this.words.length > words.length &&
      ` ${this.words.join(" ")} `.includes(` ${words.join(" ")} `)
    )
  }
}

export const comparableText = (text: string): ComparableText => new ComparableText(text)

/** Whether both say the same fact. */
export const isDuplicate = (a: ComparableText, b: ComparableText): boolean =>
  a.fact !== "" && a.fact === b.fact

/** Whether the text, or a passage of it, says the known fact, and the text has no other numbers or negations. */
export const holds = (text: ComparableText, known: ComparableText): boolean =>
  isDuplicate(text, known) ||
  (known.words.length >= passage_words_min && text.contains(known) && text.marks === known.marks)
