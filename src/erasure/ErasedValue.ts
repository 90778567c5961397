/**
 * The marks with which an erasure overwrites values. A mark contains a keyed digest, from which nobody without the key can guess
 * a short text. The same text has the same mark within one erasure.
 */
import { Result } from "effect"
import { canonical } from "../value/Canonical.ts"
import type { Erased } from "../replay/Erased.ts"
import { isErased } from "../replay/Erased.ts"

export interface Eraser {
  /** Whether a text names the subject. */
  readonly names: (text: string) => boolean
  /** The keyed digest of a text: 64 hex digits in lower case. */
  readonly digest: (text: string) => string
}

export const markOf = (eraser: Eraser, value: unknown): Erased => ({
  erased: eraser.digest(canonical(value))
})

/** The mark as JSON text, for places where a text is expected. */
export const markText = (eraser: Eraser, text: string): string =>
  isErased(text) ? text : JSON.stringify(markOf(eraser, text))

/** Parses a text that is a JSON object or list; undefined if it is not. */
const parsed = (text: string): unknown =>
  /^\s*[[{"]/.test(text)
    ? Result.getOrUndefined(Result.try((): unknown => JSON.parse(text)))
    : undefined

/** Whether the value names the subject: in a text, in the name of a member, or in a text that is itself JSON. */
export const namesIn = (value: unknown, eraser: Eraser): boolean => {
  if (typeof value === "string") {
    if (eraser.names(value)) return true
    const said = parsed(value)
    return said !== undefined && namesIn(said, eraser)
  }
  if (typeof value !== "object" || value === null) return false
  return Object.entries(value).some(
    ([name, member]) => eraser.names(name) || namesIn(member, eraser)
  )
}

const none: ReadonlySet<string> = new Set()

/**
 * Replaces what names the subject in a record's texts: the record itself if it is a text, or its members with the given names,
 * at any depth. All else says what the record is and stays, even if the subject's name equals a state or a member's name.
 * Returns the record itself if nothing changes.
 */
export const textsWithoutNames = (
  record: unknown,
  eraser: Eraser,
  texts: ReadonlySet<string> = none
): unknown => markedTexts(record, eraser, texts, true)

const markedTexts = (
  value: unknown,
  eraser: Eraser,
  texts: ReadonlySet<string>,
  isText: boolean
): unknown => {
  if (typeof value === "string")
    return isText && namesIn(value, eraser) ? markText(eraser, value) : value
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map((each) => markedTexts(each, eraser, texts, isText))
    return items.some((each, i) => each !== value[i]) ? items : value
  }
  const members = Object.entries(value)
  const marked = members.map(
    ([name, member]) => [name, markedTexts(member, eraser, texts, texts.has(name))] as const
  )
  return marked.some(([, member], i) => member !== members[i]?.[1])
    ? Object.fromEntries(marked)
    : value
}

/**
 * Like `textsWithoutNames`, for a stored text. If `texts` are given, the text is a record as JSON; otherwise it is one text,
 * plain or as JSON.
 */
export const textWithoutNames = (
  text: string,
  eraser: Eraser,
  texts?: ReadonlySet<string>
): string => {
  if (!namesIn(text, eraser)) return text
  const said = parsed(text)
  if (texts === undefined || said === undefined) {
    return typeof said === "string"
      ? JSON.stringify(markText(eraser, said))
      : markText(eraser, text)
  }
  const marked = textsWithoutNames(said, eraser, texts)
  return marked === said ? text : JSON.stringify(marked)
}
