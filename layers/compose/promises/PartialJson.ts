/**
 * The part of a JSON answer that has been written so far.
 */
import { Result } from "effect"
import { parse } from "partial-json"

/**
 * The text of a turn. It is parsed again each time that it has grown by a sixteenth, so that a long text is parsed only a few
 * times.
 */
export class PartialJson {
  #step = 0
  #text = ""
  #read = 0
  #shown = ""

  add(step: number, text: string): unknown {
    if (step !== this.#step) this.restart(step)
    this.#text += text
    if (this.#text.length < this.#read + this.#read / 16) return undefined
    this.#read = this.#text.length
    const begin = this.#text.indexOf("{")
    const value =
      begin === -1 ? undefined : Result.try((): unknown => parse(this.#text.slice(begin)))
    if (value === undefined || Result.isFailure(value)) return undefined
    const shown = JSON.stringify(value.success)
    if (shown === this.#shown) return undefined
    this.#shown = shown
    return value.success
  }

  restart(step: number): void {
    this.#step = step
    this.#text = ""
    this.#read = 0
    this.#shown = ""
  }
}
