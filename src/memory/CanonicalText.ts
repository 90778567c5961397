/**
 * Canonical texts, such as the rules of a world. They are stored where they belong, and no copy of one may become a memory. A
 * text is a copy if the whole text, or a passage of it that is as long as the canonical text, is similar enough. The SQL
 * function `troupe.memory_resembles` implements the same rule.
 */
import { Effect, Schema } from "effect"
import { Tenant } from "../value/Ids.ts"
import { MemoryName } from "./MemoryRow.ts"
import { sharedBy, similarityOf, trigramsOfWords, wordsOf } from "./Trigram.ts"

/** A text with at least this similarity is a copy, unless the canonical text sets another threshold. */
export const threshold_default = 0.6
/** The longest text of record, in UTF-16 units. */
export const canonical_units_max = 20_000
/**
 * A canonical text with fewer words is compared only with whole texts, not with passages, because its words occur in many texts.
 */
export const passage_words_min = 4

/** A text of record of a place: memories that repeat it are refused, because the text itself is at hand. */
export const CanonicalText = Schema.Struct({
  /** Whose text it is. */
  tenant: Tenant,
  /** The place for which the text is registered. */
  place: MemoryName,
  /** The text's name, unique within its place. */
  name: MemoryName,
  /** The text, 1 to 20,000 UTF-16 units, with a letter or digit. */
  text: Schema.String.check(
    Schema.isMinLength(1),
    Schema.isMaxLength(canonical_units_max),
    Schema.makeFilter(
      (text) => wordsOf(text).length > 0 || "it has no letter and no digit to compare"
    ),
    Schema.makeFilter(
      (text) =>
        (!text.includes("\0") && text.isWellFormed()) || "it has a NUL or half of a surrogate pair"
    )
  ),
  /** From which similarity on a memory is a copy, 0.3 to 1. Absent = 0.6. */
  threshold: Schema.Finite.check(Schema.isBetween({ minimum: 0.3, maximum: 1 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(threshold_default)),
    Schema.withConstructorDefault(Effect.succeed(threshold_default))
  )
})
export interface CanonicalText extends Schema.Schema.Type<typeof CanonicalText> {}

/** A canonical text, prepared for comparisons. */
export interface ComparedText {
  /** The text's name. */
  readonly name: string
  /** From which similarity on a memory is a copy. */
  readonly threshold: number
  /** All groups of three letters that the text has. */
  readonly trigrams: ReadonlySet<string>
  /** How many words the text has. */
  readonly words: number
}

/** Prepares a text for comparisons. */
export const comparedText = ({
  name,
  text,
  threshold
}: Pick<CanonicalText, "name" | "text" | "threshold">): ComparedText => {
  const words = wordsOf(text)
  return {
    name,
    threshold: Math.fround(threshold),
    trigrams: trigramsOfWords(words),
    words: words.length
  }
}

const compared = new WeakMap<CanonicalText, ComparedText>()

/** The prepared form of a registered text. It is made once for each object; a text that is registered again is another object. */
export const registeredText = (text: CanonicalText): ComparedText => {
  let known = compared.get(text)
  if (known === undefined) compared.set(text, (known = comparedText(text)))
  return known
}

/** The similarity of the text, or of its first passage that is similar enough; undefined if the text is not a copy. */
const copied = (
  words: ReadonlyArray<string>,
  whole: ReadonlySet<string>,
  { threshold, trigrams, words: size }: ComparedText
): number | undefined => {
  const similarity = similarityOf(whole, trigrams)
  if (similarity >= threshold) return similarity
  if (size < passage_words_min || words.length <= size) return undefined
  // No passage has more of the canonical trigrams than the text has.
  if (Math.fround(sharedBy(whole, trigrams) / trigrams.size) < threshold) return undefined
  const stride = Math.max(1, Math.floor(size / 4))
  for (let at = 0; at < words.length; at += stride) {
    const passage = similarityOf(trigramsOfWords(words.slice(at, at + size)), trigrams)
    if (passage >= threshold) return passage
  }
  return undefined
}

/** The first canonical text that the text copies or contains; undefined if there is none. */
export const findCanonical = (
  text: string,
  canonicals: Iterable<ComparedText>
): { readonly name: string; readonly similarity: number } | undefined => {
  let words: ReadonlyArray<string> | undefined
  let whole: ReadonlySet<string> | undefined
  for (const each of canonicals) {
    words ??= wordsOf(text)
    whole ??= trigramsOfWords(words)
    const similarity = copied(words, whole, each)
    if (similarity !== undefined) return { name: each.name, similarity }
  }
  return undefined
}
