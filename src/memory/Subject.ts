/**
 * Whether a row is about a subject, so that an erasure removes it: by its subject, by a word of its text, or by an anchor.
 */
import type { MemoryRow } from "./MemoryRow.ts"
import { wordsOf } from "./Trigram.ts"

/**
 * The words of a text between single spaces, with one before and one after. A letter with a mark may be written as one character
 * or as two, and names the same person.
 */
const spaced = (text: string): string => ` ${wordsOf(text.normalize()).join(" ")} `

/** Does the text hold all words of the subject, one after the other? A subject without words is found in no text. */
export const names = (text: string, subject: string): boolean => {
  const wanted = spaced(subject)
  return wanted !== "  " && spaced(text).includes(wanted)
}

/** `workspace/acme` is the place `acme`. */
const ofPlace = (place: string): string => place.slice(place.indexOf("/") + 1)

export const isAbout = (row: MemoryRow, subject: string): boolean => {
  const { anchor, key, place, session, text, undone_by } = row
  return (
    row.subject === subject ||
    [text, key, undone_by, session, ofPlace(place), ofPlace(anchor), row.subject].some(
      (part) => part !== undefined && names(part, subject)
    )
  )
}
