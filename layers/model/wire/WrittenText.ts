/**
 * Reads what a model writes into its text although it is none: reasoning between `<think>` and `</think>`, and calls in the form
 * of its training. Text goes on as it comes; what may be the begin of a mark waits for what follows it. Private to this room.
 */
import type { ModelTool } from "../../../services/ModelGateway.ts"
import type { WrittenCall } from "./PythonCalls.ts"
import type { CallForm } from "./WrittenCalls.ts"
import { marks, readCalls } from "./WrittenCalls.ts"

/** What is read in the texts of a turn. */
export interface Reading {
  /** True = `<think>` begins reasoning at the begin of the text or of a line. */
  readonly thinks: boolean
  /** Undefined = no calls are. */
  readonly form: CallForm | undefined
  /** The turn's tools, by name: no other name is a call. */
  readonly tools: ReadonlyMap<string, ModelTool>
}

/** A piece of what was said. Pieces of one `place` belong together. */
export interface Said {
  /** `unsaid`: the text so far was reasoning, which the server's template had begun. It has no text. */
  readonly of: "text" | "reasoning" | "unsaid"
  readonly place: number
  readonly text: string
}

const open = "<think>"
const close = "</think>"

/** A mark at the begin of a line: of this one too, if it is blank so far, or of a next one. */
interface Mark {
  readonly any: RegExp
  readonly next: RegExp
}
const opens: Mark = { any: /(?:^|\n)[ \t\r]*<think>/, next: /\n[ \t\r]*<think>/ }
const closes: Mark = { any: /(?:^|\n)[ \t\r]*<\/think>/, next: /\n[ \t\r]*<\/think>/ }

/** Each is sought in all that is left of a text. Later ones are text. */
const thoughts_max = 200

/** How long a text that may begin as a call does is held, in UTF-16 units. */
const begin_units_max = 80

const isBlank = (text: string): boolean => text.trim() === ""

/** How much of the end of a text may be the begin of one of the marks. */
const unsure = (text: string, sought: ReadonlyArray<string>): number => {
  for (let units = Math.min(text.length, 15); units > 0; units--) {
    const end = text.slice(-units)
    if (sought.some((mark) => mark.length > units && mark.startsWith(end))) return units
  }
  return 0
}

export class WrittenText {
  readonly #reading: Reading
  readonly #sought: ReadonlyArray<string>
  #out: Array<Said> = []
  #pending = ""
  /** From the first mark of a call on: it is read when all of it is there. */
  #held: string | undefined
  #depth = 0
  #place = 0
  /** Whether the line so far is blank, whether all text is, and whether reasoning has ended. */
  #isLineBlank = true
  #isBlank = true
  #hasThought = false
  /** White space around reasoning belongs to its marks. */
  #skips = false

  constructor(reading: Reading) {
    this.#reading = reading
    const { form, thinks } = reading
    this.#sought = [
      ...(thinks ? [open, close] : []),
      ...(form === undefined ? [] : [marks[form].mark])
    ]
  }

  /** What waits, in UTF-16 units. */
  get units(): number {
    return this.#pending.length + (this.#held?.length ?? 0)
  }

  push(delta: string): ReadonlyArray<Said> {
    if (this.#held === undefined) {
      this.#pending += delta
      while (this.#step(false));
    } else this.#held += delta
    return this.#taken()
  }

  /** What waited, at the end of the text. `asksToo` = there are calls beside the text, so that it has none. */
  end(asksToo: boolean): {
    readonly said: ReadonlyArray<Said>
    readonly calls: ReadonlyArray<WrittenCall>
    readonly unreadable?: string
  } {
    while (this.#held === undefined && this.#step(true));
    const held = this.#held ?? ""
    const { form, tools } = this.#reading
    this.#held = undefined
    if (held === "" || form === undefined || asksToo) {
      this.#say(held)
      return { said: this.#taken(), calls: [] }
    }
    const read = readCalls(form, held, tools)
    if ("unreadable" in read) return { said: this.#taken(), calls: [], unreadable: read.unreadable }
    this.#say(read.text)
    return { said: this.#taken(), calls: read.calls }
  }

  #taken(): ReadonlyArray<Said> {
    const out = this.#out
    this.#out = []
    return out
  }

  #say(text: string): void {
    const said = this.#skips ? text.trimStart() : text
    if (said === "") return
    this.#skips = false
    const of = this.#depth > 0 ? "reasoning" : "text"
    this.#out.push({ of, place: this.#place, text: said })
    if (of === "reasoning") return
    const line = said.slice(said.lastIndexOf("\n") + 1)
    this.#isLineBlank = isBlank(line) && (this.#isLineBlank || line.length < said.length)
    this.#isBlank &&= isBlank(said)
  }

  /** Says the first units of what waits, and drops the mark that follows them. */
  #sayUpTo(at: number, mark: string): void {
    this.#say(this.#pending.slice(0, at))
    this.#pending = this.#pending.slice(at + mark.length)
  }

  /** Says what is certain, and leaves what is not. */
  #sayCertain(isLast: boolean): false {
    const left = isLast ? 0 : unsure(this.#pending, this.#sought)
    this.#sayUpTo(this.#pending.length - left, "")
    return false
  }

  /** One step past a mark. False = there is none yet. */
  #step(isLast: boolean): boolean {
    return this.#depth > 0 ? this.#thinks(isLast) : this.#speaks(isLast)
  }

  #thinks(isLast: boolean): boolean {
    const [, mark] = /(<\/?think>)/.exec(this.#pending) ?? []
    if (mark === undefined) return this.#sayCertain(isLast)
    this.#sayUpTo(this.#pending.indexOf(mark), mark)
    this.#depth += mark === open ? 1 : -1
    if (this.#depth === 0) this.#turn()
    return true
  }

  /** Between text and reasoning. */
  #turn(): void {
    this.#place++
    this.#skips = true
    this.#isLineBlank = true
    this.#hasThought = true
  }

  /** Where a mark that this finds begins a line; -1 = nowhere. */
  #atLine({ any, next }: Mark): number {
    const found = (this.#isLineBlank ? any : next).exec(this.#pending)
    return found === null ? -1 : found.index + found[0].lastIndexOf("<")
  }

  #speaks(isLast: boolean): boolean {
    const { form, thinks } = this.#reading
    const called = form === undefined ? -1 : this.#pending.indexOf(marks[form].mark)
    const reads = thinks && this.#place < thoughts_max
    const opened = reads ? this.#atLine(opens) : -1
    const closed = reads && !this.#hasThought ? this.#atLine(closes) : -1
    const first = Math.min(...[called, opened, closed].filter((at) => at >= 0))
    if (first === Infinity) return this.#holdBegin(isLast) ? false : this.#sayCertain(isLast)
    if (first === called) {
      this.#say(this.#pending.slice(0, first))
      this.#held = this.#pending.slice(first)
      this.#pending = ""
      return false
    }
    this.#sayUpTo(first, first === opened ? open : close)
    if (first === closed) this.#out.push({ of: "unsaid", place: this.#place, text: "" })
    this.#turn()
    if (first === opened) this.#depth = 1
    return true
  }

  /** Whether the begin of the text waits, because it looks like that of a call, or may yet. */
  #holdBegin(isLast: boolean): boolean {
    const { form } = this.#reading
    const begin = form === undefined ? undefined : marks[form].begin
    if (begin === undefined || !this.#isBlank || !/^\s*[[{]/.test(this.#pending)) return false
    if (begin.test(this.#pending)) {
      this.#held = this.#pending
      this.#pending = ""
      return true
    }
    return !isLast && this.#pending.length < begin_units_max
  }
}
