/**
 * Whether a memory row is about a subject, so that an erasure removes it. It is if its subject, text, key, session, place or
 * anchor, or whoever undid it, names the subject.
 */
import type { MemoryRow } from "./MemoryRow.ts"
import { wordsOf } from "./Trigram.ts"

/** Normalized, because an accented letter may be written as one character or as two and still means the same name. */
const spaced = (text: string): string => ` ${wordsOf(text.normalize()).join(" ")} `

/** Whether the text contains all words of the subject in sequence. A subject without words is found in no text. */
export const names = (text: string, subject: string): boolean => {
  const wanted = spaced(subject)
  return wanted !== "  " && spaced(text).includes(wanted)
}

/** The name in a place: `acme` for `workspace/acme`. */
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
