/**
 * What an erasure writes over values: marks with a keyed digest, from which nobody who lacks the key can guess a short text.
 * The same text has the same mark within one erasure.
 */
import { Result } from "effect"
import { canonical } from "../Canonical.ts"
import type { Erased } from "../replay/Erased.ts"
import { isErased } from "../replay/Erased.ts"

export interface Eraser {
  /** Does a text name the subject? */
  readonly names: (text: string) => boolean
  /** The keyed digest of a text: 64 hex digits in lower case. */
  readonly digest: (text: string) => string
}

export const markOf = (eraser: Eraser, value: unknown): Erased => ({
  erased: eraser.digest(canonical(value))
})

/** The mark where a text is expected: a JSON text of it. */
export const markText = (eraser: Eraser, text: string): string =>
  isErased(text) ? text : JSON.stringify(markOf(eraser, text))

/** What a text that is JSON says; undefined where it is none. */
const parsed = (text: string): unknown =>
  /^\s*[[{"]/.test(text)
    ? Result.getOrUndefined(Result.try((): unknown => JSON.parse(text)))
    : undefined

/** Does the value name the subject, in a text, in a name of a member, or in a text that is JSON itself? */
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
 * A record without what names the subject in its texts: itself, or those of its members, at any depth, whose names are given. What
 * else stands in it says what the record is, and stays, also where the subject has the name of a state or of a member. Gives the
 * record itself where nothing changes.
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
 * The same of a stored text: of one that is a record, as JSON, where `texts` are given; otherwise it is one text, as it is or as
 * JSON.
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
