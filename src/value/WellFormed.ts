/**
 * The rule for text that is not well-formed, where it has to pass: half of a surrogate pair becomes U+FFFD, as it would in UTF-8,
 * and the text keeps its length. Strict readers of JSON refuse a whole document for such a half.
 */
import { isPlainObject } from "./PlainObject.ts"

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
