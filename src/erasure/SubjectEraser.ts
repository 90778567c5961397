/**
 * What an erasure of one subject writes, in any store.
 */
import { names } from "../memory/Subject.ts"
import { wordsOf } from "../memory/Trigram.ts"
import type { RunEraser } from "./ErasedEvent.ts"
import { soughtTexts } from "./SoughtText.ts"

/** A shorter name, such as `42`, is a word of texts that are about others: only a text that is nothing else names its subject. */
const word_units_min = 3

/** `digest`: keyed, 64 hex digits in lower case. */
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
 * What every text holds that names the subject, as a search finds it (`soughtTexts`): the subject's longest word, because what
 * stands between its words may differ.
 */
export const candidateTexts = (subject: string): ReadonlyArray<string> => {
  const [longest = subject] = wordsOf(subject.normalize()).toSorted((a, b) => b.length - a.length)
  return soughtTexts(longest)
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Does the text hold one of these ids of runs or conversations? Between ids stands what no id has, or they are UUIDs. */
export const holdsId = (text: string, ids: ReadonlySet<string>): boolean =>
  text.split(/[^A-Za-z0-9._:@~-]+/).some((word) => ids.has(word)) ||
  (text.match(uuid) ?? []).some((id) => ids.has(id))
