/**
 * Lines from a person or from a pipe. A pipe is faster than an agent: what comes before it is asked for is kept.
 */
import { createInterface } from "node:readline"
import type { Interface } from "node:readline"

export class Prompter {
  readonly #lines: Interface
  readonly #kept: Array<string> = []
  #waiting: ((line: string | undefined) => void) | undefined
  #closed = false

  /**
   * `left` is called when a person goes away, whatever is going on: closes the terminal, or what reads the output. At the
   * end of a pipe with lines nobody goes.
   */
  constructor(left: () => void) {
    this.#lines = createInterface({ input: process.stdin, output: process.stdout })
    this.#lines.on("line", (line) => {
      const give = this.#waiting
      this.#waiting = undefined
      if (give === undefined) this.#kept.push(line)
      else give(line)
    })
    this.#lines.on("close", () => {
      this.#closed = true
      if (process.stdin.isTTY) return left()
      this.#waiting?.(undefined)
    })
    // Questions that nobody sees must not be answered by the lines that come next.
    process.stdout.once("error", left)
  }

  /** The next line, trimmed; undefined when there are no more. */
  async ask(prompt: string): Promise<string | undefined> {
    const kept = this.#kept.shift()
    if (kept !== undefined) return kept.trim()
    if (this.#closed) return undefined
    this.#lines.setPrompt(prompt)
    this.#lines.prompt()
    const line = await new Promise<string | undefined>((resolve) => {
      this.#waiting = resolve
    })
    return line?.trim()
  }

  close(): void {
    if (!this.#closed) this.#lines.close()
  }
}
