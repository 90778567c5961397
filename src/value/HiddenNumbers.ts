/**
 * Carries numbers that a double cannot hold past a client that parses JSON by itself: in its text such a number becomes a marked
 * text, which is found again in what the client made of it.
 */
import type { Json } from "./Canonical.ts"
import { isExactNumber, parseExactly } from "./JsonNumber.ts"
import { endOfNumber, endOfString, nameOf, quote, skipWhitespace } from "./JsonText.ts"

/** A text without a match has no number to hide, and is not searched. */
const likely = /[0-9.]{16}|[0-9][eE]/

export class HiddenNumbers {
  readonly #mark: string
  readonly #members: ReadonlySet<string>
  readonly #hidden: RegExp

  /** `mark`: letters, digits and `-`, which nobody outside can guess. `members`: in whose values numbers are hidden. */
  constructor(mark: string, members: Iterable<string>) {
    this.#mark = `${mark}:`
    this.#members = new Set(members)
    this.#hidden = new RegExp(`"${mark}:([-+.eE0-9]+)"`, "g")
  }

  /** The JSON text, or several of them one after the other, with the numbers hidden. The same text where there are none. */
  hide(text: string): string {
    if (!likely.test(text)) return text
    let out = ""
    let from = 0
    let depth = 0
    /** The depth of the object or list in which numbers are hidden; 0 = none. */
    let inside = 0
    let isNext = false
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      if (unit === quote) {
        const end = endOfString(text, at)
        const isName = text.charCodeAt(skipWhitespace(text, end + 1)) === 58
        isNext = isName && inside === 0 && this.#members.has(nameOf(text, at, end) ?? "")
        at = end
      } else if (unit === 123 || unit === 91) {
        depth++
        if (isNext) inside = depth
        isNext = false
      } else if (unit === 125 || unit === 93) {
        if (inside === depth) inside = 0
        depth--
      } else if (unit >= 48 && unit <= 57) {
        const end = endOfNumber(text, at)
        const begin = text.charCodeAt(at - 1) === 45 ? at - 1 : at
        const number = text.slice(begin, end)
        if (inside > 0 && !isExactNumber(number)) {
          out += `${text.slice(from, begin)}"${this.#mark}${number}"`
          from = end
        }
        at = end - 1
      }
    }
    return from === 0 ? text : out + text.slice(from)
  }

  /** The JSON text with the hidden numbers in their places again. */
  restored(text: string): string {
    return text.includes(this.#mark) ? text.replace(this.#hidden, "$1") : text
  }

  /** The value with the hidden numbers as numbers that are carried as their text. */
  revealed<A>(value: A): A {
    return this.#revealed(value as Json) as A
  }

  #revealed(value: Json): Json {
    if (typeof value === "string") {
      return value.startsWith(this.#mark)
        ? (parseExactly(value.slice(this.#mark.length)) as Json)
        : value
    }
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) return value.map((item: Json) => this.#revealed(item))
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, this.#revealed(member as Json)])
    )
  }
}
