/**
 * Calls as Python, `[find(name="x", many=3), list()]`, as Llama writes them. Only literals are read, and nothing is run.
 */
import { Result } from "effect"

export interface WrittenCall {
  readonly name: string
  /** As JSON. */
  readonly input: string
}

/** The longest list of calls, in UTF-16 units, and how deep lists and dictionaries in it may nest. */
const units_max = 100_000
const depth_max = 32

/** Thrown where the text is no such list. It does not leave this module. */
class NoCalls extends Error {}

const words: ReadonlyMap<string, boolean | null> = new Map([
  ["True", true],
  ["False", false],
  ["None", null],
  ["true", true],
  ["false", false],
  ["null", null]
])

const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
  "0": "\0"
}

const unescaped = (text: string): string =>
  text.replace(/\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([^]))/g, (_, u, x, one: string) =>
    u === undefined && x === undefined
      ? (escapes[one] ?? one)
      : String.fromCharCode(Number.parseInt(u ?? x, 16))
  )

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Takes what the sticky pattern finds here, after white space; undefined = it finds nothing. */
  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text) ?? undefined
    if (found !== undefined) this.#at = pattern.lastIndex
    return found
  }

  #expect(pattern: RegExp): string {
    const found = this.#take(pattern)
    if (found === undefined) throw new NoCalls()
    return found[1] ?? ""
  }

  /** Items up to the closing sign, with commas between. */
  #items(close: RegExp, item: () => void): void {
    while (this.#take(close) === undefined) {
      item()
      if (this.#take(/\s*,/y) !== undefined) continue
      this.#expect(close)
      return
    }
  }

  #value(depth: number): unknown {
    if (depth === 0) throw new NoCalls()
    const [, , double, single] =
      this.#take(/\s*("((?:[^"\\]|\\[^])*)"|'((?:[^'\\]|\\[^])*)')/y) ?? []
    if (double !== undefined || single !== undefined) return unescaped(double ?? single ?? "")
    const number = this.#take(/\s*(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.])/y)?.[1]
    if (number !== undefined) return Number(number)
    if (this.#take(/\s*\[/y) !== undefined) {
      const list: Array<unknown> = []
      this.#items(/\s*\]/y, () => list.push(this.#value(depth - 1)))
      return list
    }
    if (this.#take(/\s*\{/y) !== undefined) {
      const members: Array<readonly [string, unknown]> = []
      this.#items(/\s*\}/y, () => {
        const name = this.#value(depth - 1)
        this.#expect(/\s*:/y)
        members.push([String(name), this.#value(depth - 1)])
      })
      return Object.fromEntries(members)
    }
    const word = words.get(this.#expect(/\s*([A-Za-z]+)\b/y))
    if (word === undefined) throw new NoCalls()
    return word
  }

  calls(): ReadonlyArray<WrittenCall> {
    const calls: Array<WrittenCall> = []
    this.#expect(/\s*\[/y)
    this.#items(/\s*\]/y, () => {
      const name = this.#expect(/\s*([A-Za-z_][\w.-]*)\s*\(/y)
      const members: Array<readonly [string, unknown]> = []
      this.#items(/\s*\)/y, () => {
        const member = this.#expect(/\s*([A-Za-z_]\w*)\s*=/y)
        members.push([member, this.#value(depth_max)])
      })
      calls.push({ name, input: JSON.stringify(Object.fromEntries(members)) })
    })
    this.#expect(/\s*$/y)
    return calls
  }
}

/** The calls, if the text is a list of calls of known tools and nothing else; else undefined. */
export const pythonCalls = (
  text: string,
  isKnown: (name: string) => boolean
): ReadonlyArray<WrittenCall> | undefined => {
  if (text.length > units_max) return undefined
  const read = Result.try(() => new Reader(text).calls())
  return Result.isSuccess(read) &&
    read.success.length > 0 &&
    read.success.every(({ name }) => isKnown(name))
    ? read.success
    : undefined
}
