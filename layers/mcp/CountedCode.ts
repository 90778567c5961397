/**
 * Rewrites the code that Ajv generates from a foreign schema so that it counts its steps: a check ends after a bounded
 * number of them, whatever the schema and the value are. Private to this room.
 */
import equalModule from "ajv/dist/runtime/equal.js"
import lengthModule from "ajv/dist/runtime/ucs2length.js"
import { Result } from "effect"
import { canonical } from "../../src/value/Canonical.ts"
import { linearPattern } from "../../src/schema/LinearPattern.ts"

/** A step takes some 30 ns, all of them about 0.1 s; a result of 100,000 plain objects takes about half of them. */
export const steps_max = 4_000_000

/** Characters of generated code that cost one step. */
const code_units_per_step = 128
/** Characters of a text that are compared or counted for one step, and those that a format reads for one. */
const units_per_step = 8
const format_units_per_step = 4
/** RE2 tests each character against every instruction that the pattern may have reached. */
const instructions_per_step = 4
/** The bound on instructions of all patterns of a schema; compiling so many takes some 10 ms. */
const instructions_max = 10_000
/** Validation errors that are copied for one step, and the steps of an error that is made and kept. */
const mistakes_per_step = 8
const steps_per_mistake = 8
/** Objects with more members than this sort their names at each call of `Object.keys`. */
const sorted_names_min = 1_000
const steps_per_sorted_name = 7
/** The longest member name that an error may quote. */
const name_units_max = 1_000

/** Thrown through Ajv, which has no result for a check that was stopped. */
export class StepsSpent extends Error {
  constructor() {
    super(`it takes more than ${steps_max} steps to check it by its schema`)
  }
}

/** Thrown while a schema is compiled: it has a pattern that cannot be run in linear time. */
export class PatternRefused extends Error {}

/** Thrown while a schema is compiled: the generated code has a form that this module does not know. */
class CodeUnknown extends Error {}

type Callable = (...args: ReadonlyArray<never>) => unknown

/** Unwraps a module of Ajv's, whose default export may be wrapped twice. */
const plain = (module: unknown): unknown =>
  typeof module === "object" && module !== null && "default" in module ? module.default : module
const equalOfAjv = plain(equalModule)
const lengthOfAjv = plain(lengthModule) as (text: string) => number

/** The remaining steps of one check. The generated code calls these methods by name. */
export class Steps {
  #left = steps_max
  #instructions = 0
  /** Ajv's option for another engine of patterns, called once for each pattern when the schema is compiled. */
  readonly engine = Object.assign(
    (source: string) => {
      const pattern = Result.getOrThrowWith(linearPattern(source), (why) => new PatternRefused(why))
      if ((this.#instructions += pattern.size) > instructions_max) {
        throw new PatternRefused(`its patterns have more than ${instructions_max} parts altogether`)
      }
      const cost = 1 + pattern.size / instructions_per_step
      const test = (text: string) => {
        this.take(1 + text.length * cost)
        return pattern.test(text)
      }
      return { ...pattern, test }
    },
    { code: "linearPattern" }
  )

  /** Resets the count before a check. Checks are synchronous, so they never overlap. */
  begin(): void {
    this.#left = steps_max
  }

  take(steps: number): void {
    if ((this.#left -= steps) < 0) throw new StepsSpent()
  }

  /** Takes the steps of a text, and returns it. */
  text(text: string): string {
    this.take(1 + Math.ceil(text.length / units_per_step))
    return text
  }

  /** Takes the steps of a text that a format reads, and returns it. */
  formatted(text: string): string {
    this.take(1 + Math.ceil(text.length / format_units_per_step))
    return text
  }

  /** Takes the steps of a member name, and returns it. A name beyond the bound ends the check. */
  name(name: string): string {
    if (name.length > name_units_max) throw new StepsSpent()
    return this.text(name)
  }

  keys(value: object): ReadonlyArray<string> {
    const keys = Object.keys(value)
    this.take(keys.length * (keys.length < sorted_names_min ? 1 : steps_per_sorted_name))
    return keys
  }

  assign(to: object, from: object | null | undefined): object {
    return Object.assign(to, Object.fromEntries(this.keys(from ?? {}).map((name) => [name, true])))
  }

  joined(one: ReadonlyArray<unknown>, two: ReadonlyArray<unknown>): ReadonlyArray<unknown> {
    this.take(Math.ceil((one.length + two.length) / mistakes_per_step))
    return one.concat(two)
  }

  equal(one: unknown, two: unknown): boolean {
    this.take(1)
    if (typeof one === "string" && typeof two === "string" && one.length === two.length) {
      return this.text(one) === two
    }
    if (typeof one !== "object" || typeof two !== "object" || one === null || two === null) {
      return one === two
    }
    if (Array.isArray(one) !== Array.isArray(two)) return false
    const names = this.keys(one)
    if (names.length !== Object.keys(two).length) return false
    return names.every(
      (name) =>
        Object.hasOwn(two, name) &&
        this.equal(
          (one as Readonly<Record<string, unknown>>)[name],
          (two as Readonly<Record<string, unknown>>)[name]
        )
    )
  }

  /** Whether no two items are the same JSON value, in time linear in their size. */
  areUnique(items: ReadonlyArray<unknown>): boolean {
    const seen = new Set<string>()
    return items.every((item) => {
      this.take(1)
      const before = seen.size
      const text = canonical(item)
      this.take(text.length)
      seen.add(text)
      return seen.size > before
    })
  }

  /** Replaces a function of Ajv's whose time depends on its arguments by one that counts. */
  counted(given: Callable): Callable {
    if (given === equalOfAjv) return (one, two) => this.equal(one, two)
    if (given === lengthOfAjv) return (text) => lengthOfAjv(this.text(text))
    // Patterns count their own steps.
    const isKnown = given === Object.prototype.hasOwnProperty || given === (this.engine as Callable)
    if (isKnown) return given
    throw new CodeUnknown(`the function ${given.name} is not known`)
  }
}

/** A string literal, the begin or end of a block, a call, or an error that is created. */
const token =
  /"(?:[^"\\]|\\.)*"|\)\{|\belse ?\{|[{}]|\b(?:scope\.func\[\d+\])|\b(\w+)\.replace\(\/~\/g|[\w.]+\(|\bschemaPath:|\b(?:while|do|try|switch|async|new)\b|=>/g

/** What the code may call: its own functions, functions that count their steps, and functions of one step. */
const known =
  /^(?:if|for|validate\d+|_v\d*|func\d+(?:\.call)?|wrapper\d+\.validate|keyword\d+\.call|pattern\d+\.test|formats\d+(?:\.validate|\.test)?|vErrors\.(?:push|concat)|\.replace|Array\.isArray|Object\.(?:keys|assign)|isFinite|isNaN|parseInt|Math\.(?:abs|round))$/

/** A loop whose body is a block, which takes its steps at each iteration. */
const loop = /^for\((?:[^(){}"]|\([^(){}"]*\))*\)\{/

const replaced = (text: string, key: string | undefined): string => {
  if (text.startsWith("scope.func")) return `self.steps.counted(${text})`
  if (key !== undefined) return text.replace(key, `self.steps.name(${key})`)
  switch (text) {
    case "Object.keys(":
      return "self.steps.keys("
    case "Object.assign(":
      return "self.steps.assign("
    case "vErrors.concat(":
      return "self.steps.joined(vErrors,"
    default:
      return text
  }
}

/** Throws CodeUnknown on a form that Ajv is not known to generate. */
const judge = (text: string, code: string, at: number): void => {
  if (text === "for(" && !loop.test(code.slice(at, at + 500))) throw new CodeUnknown("a loop")
  const isCall = text.endsWith("(")
  if (isCall ? !known.test(text.slice(0, -1)) : /^(?:[a-z]+|=>)$/.test(text)) {
    throw new CodeUnknown(text.slice(0, 100))
  }
}

/** Each block takes steps for its own length when it is entered: all code that runs repeatedly is the body of a loop or a function. */
export const countSteps = (code: string): string => {
  const out: Array<string> = []
  /** Each open bracket: the index in `out` of its count, if it is a block, and its steps. */
  const open: Array<{ readonly at: number | undefined; steps: number }> = []
  let from = 0
  for (const match of code.matchAll(token)) {
    const [text, key] = match
    out.push(code.slice(from, match.index))
    const inner = open.at(-1)
    if (inner !== undefined) {
      inner.steps += (match.index + text.length - from) / code_units_per_step
      if (text === "schemaPath:") inner.steps += steps_per_mistake
    }
    from = match.index + text.length
    if (text.endsWith("{") && !text.startsWith('"')) {
      out.push(text)
      open.push({ at: text === "{" ? undefined : out.push("") - 1, steps: 0 })
    } else if (text === "}") {
      const { at, steps } = open.pop() ?? { at: undefined, steps: 0 }
      const outer = open.at(-1)
      if (at !== undefined) out[at] = `self.steps.take(${Math.max(1, Math.ceil(steps))});`
      else if (outer !== undefined) outer.steps += steps
      out.push(text)
    } else {
      if (!text.startsWith('"')) judge(text, code, match.index)
      out.push(replaced(text, key))
    }
  }
  if (open.length > 0) throw new CodeUnknown("a block that does not end")
  return out.join("") + code.slice(from)
}
