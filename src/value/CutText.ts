/**
 * Cuts and measures texts without splitting a surrogate pair, half of which could not be written as UTF-8, and mends texts that have
 * one. Strict readers of JSON refuse a whole document for such a half.
 */
import { isPlainObject } from "./PlainObject.ts"

const cut_mark = "…"

/**
 * The first units of a text, as a text of its own. What `slice` gives is to V8 a view of the whole text, which stays in memory as
 * long as the view: some thousand units of a result would hold its megabytes.
 */
export const beginningOf = (text: string, units: number): string =>
  JSON.parse(JSON.stringify(text.slice(0, units))) as string

/** The first `units_max` UTF-16 units of the text, at least 0, or one unit less where the cut would split a surrogate pair. */
export const truncateUnits = (text: string, units_max: number): string => {
  if (text.length <= units_max) return text
  const last = text.charCodeAt(units_max - 1)
  return beginningOf(text, last >= 0xd800 && last <= 0xdbff ? units_max - 1 : units_max)
}

/** Like `truncateUnits`, but a text that is cut ends with `…`, which counts as one of its `units_max` units (at least 1). */
export const cutText = (text: string, units_max: number): string =>
  text.length <= units_max ? text : truncateUnits(text, units_max - cut_mark.length) + cut_mark

const encoder = new TextEncoder()

/**
 * Whether the text has more than `bytes_max` bytes in UTF-8. A UTF-16 unit takes one to three bytes, so texts that are clearly
 * short or clearly long are not encoded to be measured.
 */
export const isBeyondBytes = (text: string, bytes_max: number): boolean =>
  text.length > bytes_max ||
  (text.length * 3 > bytes_max && encoder.encode(text).length > bytes_max)

/** Deeper values stay as they are; JSON from outside nests less. */
const depth_max = 200

/**
 * The value with all texts and names of its lists and plain objects well-formed: the same value if they are already. What else
 * it holds, such as bytes, stays. Names that become equal are one, the last of them.
 */
export const wellFormed = <A>(value: A): A => walked(value, 0) as A

const walked = (value: unknown, depth: number): unknown => {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed()
  if (typeof value !== "object" || value === null || depth >= depth_max) return value
  if (Array.isArray(value)) {
    let copy: Array<unknown> | undefined
    for (const [index, item] of value.entries()) {
      const next = walked(item, depth + 1)
      if (next !== item) (copy ??= [...value])[index] = next
    }
    return copy ?? value
  }
  return isPlainObject(value) ? walkedMembers(value, depth) : value
}

const walkedMembers = (value: object, depth: number): object => {
  const entries = Object.entries(value)
  const next = entries.map(
    ([name, member]) => [name.toWellFormed(), walked(member, depth + 1)] as const
  )
  const isSame = entries.every(
    ([name, member], index) => next[index]?.[0] === name && next[index]?.[1] === member
  )
  return isSame ? value : Object.fromEntries(next)
}
