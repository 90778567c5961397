/**
 * Decides what names a subject, and what an erasure writes in its place, for every store.
 */
import { names } from "../memory/Subject.ts"
import { wordsOf } from "../memory/Trigram.ts"
import type { RunEraser } from "./ErasedEvent.ts"
import { soughtTexts } from "./SoughtText.ts"

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
