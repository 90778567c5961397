/**
 * The words by which searches find a memory: in lower case, without the most common English words, and with English plurals
 * reduced to the singular. What is written without spaces has pieces of two or three letters in place of words, so that no
 * dictionary decides what is found; and what is written with other letters than those of ASCII has its beginning too, because
 * many of those languages change the ends of words.
 */
import { isAscii, wordsOf } from "./Trigram.ts"

/** The greatest numbers of words in one row's index, and in one query. */
const row_words_max = 400
export const query_words_max = 32
/** Of a query's words count the longest, because long words distinguish texts better. */
const longest_max = 12
const word_units_max = 40

const common = new Set(
  (
    "a an and are s t as at be been but by can could did do does for from had has have he her his how i if in into is it its " +
    "me my no not of on or our she should so than that the their them then there they this to up us was we were what " +
    "when where which who why will with would you your s t"
  ).split(" ")
)

export const singular = (word: string): string => {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`
  return word.length > 3 && word.endsWith("s") && !/(?:ss|us|is)$/.test(word)
    ? word.slice(0, -1)
    : word
}

/** Letters of scripts whose words no space parts, or whose endings are syllables of the word: by two, and by three. */
const pairs = "[\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Bopo}\\p{scx=Hang}\\p{scx=Yi}]"
const triples =
  "[\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}\\p{scx=Tibt}\\p{scx=Java}\\p{scx=Bali}]"
const letter = "[\\p{L}\\p{M}\\p{Nd}]"
const runs = new RegExp(
  `(?<pairs>[${pairs}&&${letter}]+)|(?<triples>[${triples}&&${letter}]+)|(?<word>[${letter}--${pairs}--${triples}]+)`,
  "gv"
)
/** Letters that mostly spell endings and particles. */
const hiragana = /^\p{Script=Hiragana}+$/v

/** A Chinese character between others is a word by itself. */
const alone = /(?<!\p{Script=Han})\p{Script=Han}(?!\p{Script=Han})/gv

/** Each sequence of so many letters; a shorter run is one piece. */
const piecesOf = (run: string, size: number): ReadonlyArray<string> => {
  const letters = Array.from(run)
  if (letters.length <= size) return [run]
  const pieces = letters.slice(size - 1).map((_, i) => letters.slice(i, i + size).join(""))
  return [...pieces, ...(run.match(alone) ?? [])]
}

/** How many letters of a word begin the others of its family. */
const stem_letters = 5
/** The Arabic article, which is written as the beginning of its word. */
const article = /^ال(?=\p{L}{3})/v
const accented = /^[\p{Script=Latin}\p{Script=Greek}\p{M}\p{Nd}]+$/v

/** Latin and Greek letters without their accents, which many leave out. */
const plain = (word: string): string =>
  accented.test(word) ? word.normalize("NFD").replaceAll(/\p{M}/gv, "") : word

const formsOf = (word: string): ReadonlyArray<string> => {
  if (isAscii(word)) return common.has(word) ? [] : [singular(word.slice(0, word_units_max))]
  const letters = Array.from(plain(word).replace(article, ""))
  const whole = letters.slice(0, word_units_max).join("")
  const stem = letters.slice(0, stem_letters).join("")
  return stem === whole ? [whole] : [whole, stem]
}

interface Run {
  readonly pairs?: string
  readonly triples?: string
  readonly word?: string
}

/** The runs of letters and digits. A letter and its mark, and a wide letter, are as a search writes them. */
function* runsOf(text: string): Iterable<Run> {
  if (isAscii(text)) for (const word of wordsOf(text)) yield { word }
  else
    for (const { groups } of text.normalize("NFKC").toLowerCase().matchAll(runs)) yield groups ?? {}
}

interface Found {
  /** Each once, in the order of the text. */
  readonly words: ReadonlyArray<string>
  readonly pieces: ReadonlyArray<string>
}

const found = (text: string): Found => {
  const words = new Set<string>()
  const pieces = new Set<string>()
  for (const { pairs, triples, word = "" } of runsOf(text)) {
    if (pairs !== undefined) for (const each of piecesOf(pairs, 2)) pieces.add(each)
    else if (triples !== undefined) for (const each of piecesOf(triples, 3)) pieces.add(each)
    else for (const each of formsOf(word)) words.add(each)
    if (words.size + pieces.size >= row_words_max) break
  }
  return { words: [...words], pieces: [...pieces] }
}

/** The search words of a row: each once, at most 400. */
export const rowWords = (text: string): ReadonlyArray<string> => {
  const { pieces, words } = found(text)
  return [...words, ...pieces].slice(0, row_words_max)
}

/** At most so many of them, from everywhere in the list. */
const spread = (all: ReadonlyArray<string>, most: number): ReadonlyArray<string> =>
  all.length <= most
    ? all
    : Array.from({ length: most }, (_, i) => all[Math.floor((i * all.length) / most)] ?? "")

/** The 12 longest words, which distinguish texts better, and pieces of what is written without spaces: at most 32. */
export const queryWords = (text: string): ReadonlyArray<string> => {
  const { pieces, words } = found(text)
  const longest = words.toSorted((a, b) => b.length - a.length).slice(0, longest_max)
  const telling = pieces.filter((piece) => !hiragana.test(piece))
  const room = query_words_max - longest.length
  return [...longest, ...spread(telling.length > 0 ? telling : pieces, room)]
}
