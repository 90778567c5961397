/**
 * Patterns as ECMAScript reads them, said in the syntax of RE2, which reads the same signs otherwise: `.` matches a carriage return
 * there, `\s` no non-breaking space, `\A` and `(?P<n>)` are no texts, and `[[:alpha:]]` is a set of letters. A pattern is read in
 * Unicode mode, as JSON Schema asks, and where it is none there (`\-`), without it.
 */
import { Result } from "effect"

/** What one pattern asks of a text at once, as sources of RE2. */
export interface PatternParts {
  /** The text matches all of these. */
  readonly all: ReadonlyArray<string>
  /** And none of these. */
  readonly none: ReadonlyArray<string>
}

/** Thrown where RE2 has no words for a part. It does not leave this module. */
class Unsaid extends Error {}

const spaces =
  "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"
const others =
  "\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}" +
  "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"
const any = "\\x{0}-\\x{10ffff}"
const line = "[^\\n\\r\\x{2028}\\x{2029}]"

/** What stands in a class for each of the escapes that are classes themselves. */
const sets: Readonly<Record<string, string>> = {
  d: "0-9",
  D: "\\x{0}-/:-\\x{10ffff}",
  w: "0-9A-Z_a-z",
  W: "\\x{0}-/:-@\\[-\\^`{-\\x{10ffff}",
  s: spaces,
  S: others
}

const controls: Readonly<Record<string, number>> = { f: 12, n: 10, r: 13, t: 9, v: 11 }

const character = (code: number): string => `\\x{${code.toString(16)}}`

const quoted = (text: string): string => character(text.codePointAt(0) ?? 0)

/** The names of properties of which RE2 has no such form. */
const propertyOf = (negated: boolean, name: string): string => {
  if (name === "ASCII") return negated ? "\\x{80}-\\x{10ffff}" : "\\x{0}-\\x{7f}"
  if (name === "Any" && !negated) return any
  const [, value = name] = /^(?:Script|sc|General_Category|gc)=(.+)$/.exec(name) ?? []
  return `\\${negated ? "P" : "p"}{${value}}`
}

class Translation {
  readonly #source: string
  readonly #isUnicode: boolean
  readonly #isNamed: boolean
  #at = 0

  constructor(source: string, isUnicode: boolean) {
    this.#source = source
    this.#isUnicode = isUnicode
    this.#isNamed = /\(\?<[^=!]/.test(source)
  }

  #take(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.#at
    const found = sticky.exec(this.#source) ?? undefined
    if (found !== undefined) this.#at = sticky.lastIndex
    return found
  }

  /** The escape at this place: one character, or what a class has in its place. */
  #escape(inClass: boolean): { readonly one: string } | { readonly set: string } {
    const hex = this.#take(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))/y)
    if (hex !== undefined) return this.#unit(Number.parseInt(hex[1] ?? hex[2] ?? "", 16))
    const long = this.#isUnicode ? this.#take(/\\u\{([0-9a-fA-F]+)\}/y) : undefined
    if (long !== undefined) return { one: character(Number.parseInt(long[1] ?? "", 16)) }
    const property = this.#isUnicode ? this.#take(/\\([pP])\{([^}]*)\}/y) : undefined
    if (property !== undefined) return { set: propertyOf(property[1] === "P", property[2] ?? "") }
    const control = this.#take(/\\c([A-Za-z])/y)?.[1]
    if (control !== undefined) return { one: character(control.charCodeAt(0) % 32) }
    if (this.#take(/\\0(?![0-9])/y) !== undefined) return { one: character(0) }
    if (this.#take(/\\(?:[0-9]|k<)/y) !== undefined && (!inClass || this.#isNamed)) {
      throw new Unsaid("it refers back to what it matched")
    }
    const one = this.#take(/\\([^]?)/uy)?.[1] ?? ""
    const set = sets[one]
    if (set !== undefined) return { set }
    if (inClass && one === "b") return { one: character(8) }
    const code = controls[one]
    return { one: code === undefined ? quoted(one === "" ? "\\" : one) : character(code) }
  }

  /** A code unit, with the other half of its pair if that is written behind it. */
  #unit(code: number): { readonly one: string } {
    if (code < 0xd800 || code > 0xdbff) return { one: character(code) }
    const low = this.#take(/\\u(d[c-f][0-9a-f]{2})/iy)?.[1]
    const pair = String.fromCharCode(code, low === undefined ? 0x20 : Number.parseInt(low, 16))
    return { one: low === undefined ? character(code) : quoted(pair) }
  }

  /** A class up to its end. A hyphen beside a set is itself. */
  #class(): string {
    const negated = this.#take(/\[\^/y) !== undefined
    if (!negated) this.#at++
    let inside = ""
    let isAfterSet = false
    while (this.#at < this.#source.length && this.#take(/\]/y) === undefined) {
      const isHyphen = this.#take(/-/y) !== undefined
      if (isHyphen) {
        const isRange = inside !== "" && !isAfterSet && !/\](?!.)|\\[dDwWsSpP]/y.test(this.#rest())
        inside += isRange ? "-" : "\\-"
        isAfterSet = false
        continue
      }
      const part =
        this.#source[this.#at] === "\\"
          ? this.#escape(true)
          : { one: quoted(this.#take(/[^]/uy)?.[0] ?? "") }
      isAfterSet = "set" in part
      inside += "set" in part ? part.set : part.one
    }
    if (inside === "") return negated ? `[${any}]` : `[^${any}]`
    return `[${negated ? "^" : ""}${inside}]`
  }

  /** What is left, up to the end of a class that would end next. */
  #rest(): string {
    return this.#source.slice(this.#at, this.#at + 2).replace(/^\].*$/s, "]")
  }

  translated(): string {
    let out = ""
    const dots: Array<string> = [line]
    while (this.#at < this.#source.length) {
      const next = this.#source[this.#at] ?? ""
      if (next === "[") out += this.#class()
      else if (next === "\\") out += this.#outside()
      else if (next === "(") out += this.#group(dots)
      else {
        this.#at++
        if (next === ")") dots.pop()
        out += next === "." ? (dots.at(-1) ?? line) : this.#plain(next)
      }
    }
    return out
  }

  #outside(): string {
    if (this.#take(/\\b/y) !== undefined) return "\\b"
    if (this.#take(/\\B/y) !== undefined) return "\\B"
    const part = this.#escape(false)
    if ("one" in part) return part.one
    return part.set.startsWith("\\p") || part.set.startsWith("\\P") ? part.set : `[${part.set}]`
  }

  /** Groups are all alike where nothing refers to them. A modifier `s` is in the dots. */
  #group(dots: Array<string>): string {
    if (this.#take(/\(\?(?:<?[=!])/y) !== undefined) {
      throw new Unsaid("it looks ahead or behind from within")
    }
    const modified = this.#take(/\(\?([ims]*)(?:-([ims]*))?:/y)
    if (modified === undefined) this.#take(/\((?:\?<[^>]*>)?/y)
    const [, on = "", off = ""] = modified ?? []
    const dot = off.includes("s") ? line : on.includes("s") ? `[${any}]` : (dots.at(-1) ?? line)
    dots.push(dot)
    const left = off.replace("s", "")
    return `(?${on.replace("s", "")}${left === "" ? "" : `-${left}`}:`
  }

  /** A sign that is a repetition, an end or a choice; a brace that is none is itself. */
  #plain(sign: string): string {
    if (sign === "{") {
      const repeats = this.#take(/\d+(?:,\d*)?\}/y)?.[0]
      return repeats === undefined ? quoted(sign) : sign + repeats
    }
    return sign === "}" || sign === "]" ? quoted(sign) : sign
  }
}

/** Where the group that begins here ends; -1 = nowhere. */
const endOfGroup = (source: string, from: number): number => {
  let depth = 0
  let inClass = false
  for (let at = from; at < source.length; at++) {
    const sign = source[at]
    if (sign === "\\") at++
    else if (inClass) inClass = sign !== "]"
    else if (sign === "[") inClass = true
    else if (sign === "(") depth++
    else if (sign === ")" && --depth === 0) return at + 1
  }
  return -1
}

/** Whether there is a choice outside of all groups. */
const hasChoice = (source: string): boolean => {
  const whole = `(${source})`
  for (let at = 1; at < whole.length; at++) {
    const sign = whole[at]
    if (sign === "|") return true
    if (sign === "\\") at++
    else if (sign === "(") at = endOfGroup(whole, at) - 1
    else if (sign === "[") at = endOfGroup(`(${whole.slice(at)}`, 0) - 2 + at
    if (at < 0) return false
  }
  return false
}

/** A look ahead from the begin of a text, and one behind from its end, are questions of their own. */
const split = (source: string): { readonly own: string; readonly looks: ReadonlyArray<Look> } => {
  const looks: Array<Look> = []
  let own = source
  while (/^\^\(\?[=!]/.test(own)) {
    const end = endOfGroup(own, 1)
    if (end < 0 || /^[*+?{]/.test(own.slice(end))) break
    looks.push({ not: own[3] === "!", source: `^(?:${own.slice(4, end - 1)})` })
    own = `^${own.slice(end)}`
  }
  const behind = /\(\?<([=!])((?:[^()[\]\\]|\\[^]|\[(?:\\[^]|[^\]\\])*\])*)\)\$$/.exec(own)
  if (behind !== null && !own.slice(0, behind.index).endsWith("\\")) {
    looks.push({ not: behind[1] === "!", source: `(?:${behind[2]})$` })
    own = `${own.slice(0, behind.index)}$`
  }
  return looks.length > 0 && hasChoice(own) ? { own: source, looks: [] } : { own, looks }
}

interface Look {
  readonly not: boolean
  readonly source: string
}

/** Signs that need their backslash in Unicode mode. A letter or digit behind one means something of its own. */
const syntax = new Set("^$\\.*+?()[]{}|/")

/** The same pattern in a form that Unicode mode reads, where it has needless backslashes; the pattern itself where it has none. */
export const inUnicodeMode = (source: string): string => {
  if (isPattern(source, "u") || !isPattern(source, "")) return source
  let inClass = false
  const plain = source.replace(/\\([^])|[[\]]/g, (sign, escaped: string | undefined) => {
    if (escaped === undefined) {
      inClass = sign === "[" || (inClass && sign !== "]")
      return sign
    }
    const isNeeded = syntax.has(escaped) || /\w/.test(escaped) || (inClass && escaped === "-")
    return isNeeded ? sign : escaped
  })
  return isPattern(plain, "u") ? plain : source
}

const isPattern = (source: string, flags: string): boolean =>
  Result.isSuccess(Result.try(() => new RegExp(source, flags)))

/** The pattern's parts in RE2's syntax. Fails with a reason, as the end of a sentence about the pattern. */
export const patternParts = (source: string): Result.Result<PatternParts, string> => {
  const isUnicode = isPattern(source, "u")
  if (!isUnicode && !isPattern(source, "")) return Result.fail("is none that JavaScript reads")
  const said = (each: string) => new Translation(each, isUnicode).translated()
  return Result.mapError(
    Result.try(() => {
      const { looks, own } = split(source)
      const of = (not: boolean) =>
        looks.flatMap((look) => (look.not === not ? [said(look.source)] : []))
      return { all: [...of(false), said(own)], none: of(true) }
    }),
    (error) =>
      error instanceof Unsaid
        ? `cannot be run in linear time: ${error.message}`
        : "cannot be run in linear time"
  )
}
