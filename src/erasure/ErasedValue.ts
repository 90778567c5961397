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

/**
 * The value without what names the subject: each such text is a mark, and so is an object of which a member's name does. Gives
 * the value itself where nothing does.
 */
export const withoutNames = (value: unknown, eraser: Eraser): unknown => {
  if (!namesIn(value, eraser)) return value
  if (typeof value === "string") return markText(eraser, value)
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map((each) => withoutNames(each, eraser))
  const members = Object.entries(value)
  return members.some(([name]) => eraser.names(name))
    ? markOf(eraser, value)
    : Object.fromEntries(members.map(([name, member]) => [name, withoutNames(member, eraser)]))
}

/** The same of a stored text: where it is JSON, of what it says. */
export const textWithoutNames = (text: string, eraser: Eraser): string => {
  const said = parsed(text)
  if (said === undefined) return eraser.names(text) ? markText(eraser, text) : text
  return namesIn(said, eraser) ? JSON.stringify(withoutNames(said, eraser)) : text
}
