/**
 * How far long work is: on a terminal one line that is rewritten, elsewhere a line every few seconds. It is written to stderr, so
 * that stdout has the results alone. Work that is soon over says nothing where there is no terminal.
 */
import { Effect } from "effect"

/** The shortest time between two lines, in ms: of those that are rewritten, and of those that stay. */
const redraw_ms = 100
const pace_ms = 5_000
const tick_ms = 1_000

export interface Options {
  /** What is counted, such as "runs". Absent = only the time is said. */
  readonly unit?: string
  /** Absent = not known. */
  readonly total?: number
  readonly out?: Pick<NodeJS.WriteStream, "columns" | "isTTY"> & {
    readonly write: (text: string) => unknown
  }
  /** In ms, from any time on. */
  readonly now?: () => number
}

export class Progress {
  readonly #what: string
  readonly #options: Options
  readonly #out: NonNullable<Options["out"]>
  readonly #now: () => number
  readonly #began: number
  #written: number
  #isShown = false
  #done = 0
  #total: number | undefined
  #name = ""

  constructor(what: string, options: Options = {}) {
    this.#what = what
    this.#options = options
    this.#out = options.out ?? process.stderr
    this.#now = options.now ?? (() => performance.now())
    this.#began = this.#now()
    this.#written = this.#began
    this.#total = options.total
  }

  /** So much is done, of so much where that is known; `name` is what is worked on. */
  at(done: number, name = "", total = this.#total): void {
    this.#done = done
    this.#name = name
    this.#total = total
    this.tick()
  }

  /** Says again how far it is, unless it was said just now. */
  tick(): void {
    const now = this.#now()
    const { isTTY } = this.#out
    if (now - this.#written < (isTTY ? redraw_ms : pace_ms)) return
    this.#written = now
    if (!isTTY) return void this.#out.write(`${this.#line(now)}\n`)
    this.#out.write(`\r\u001b[2K${this.#line(now).slice(0, (this.#out.columns ?? 80) - 1)}`)
    this.#isShown = true
  }

  /** Removes the line from the terminal, before something else is written there and at the end. */
  clear(): void {
    if (this.#isShown) this.#out.write("\r\u001b[2K")
    this.#isShown = false
  }

  #line(now: number): string {
    const { unit } = this.#options
    const s = Math.max((now - this.#began) / 1_000, 0.001)
    const rate = this.#done / s
    const count = this.#total === undefined ? `${this.#done}` : `${this.#done} of ${this.#total}`
    return [
      `${this.#what}: ${unit === undefined ? "" : `${count} ${unit}, ${rate.toFixed(rate < 10 ? 1 : 0)} a second, `}${Math.round(s)} s`,
      ...(this.#name === "" ? [] : [this.#name])
    ].join(", ")
  }
}

/** Shows the progress of an Effect, every second. */
export const during = <A, E, R>(
  what: string,
  options: Options,
  use: (progress: Progress) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const progress = new Progress(what, options)
      return { progress, timer: setInterval(() => progress.tick(), tick_ms) }
    }),
    ({ progress }) => use(progress),
    ({ progress, timer }) =>
      Effect.sync(() => {
        clearInterval(timer)
        progress.clear()
      })
  )
