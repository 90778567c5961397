/**
 * Numbers in the arguments of calls that a provider gives as objects. Its client parses them, and would alter those that a double
 * cannot hold; hidden from it, they are judged where arguments are. Private to this room.
 */
import { randomUUID } from "node:crypto"
import { HiddenNumbers } from "../../../src/value/JsonText.ts"

/** The members in which providers give arguments: Gemini, Chat Completions, Anthropic and Bedrock. */
const members = ["args", "arguments", "input"]
const numbers = new HiddenNumbers(`troupe-${randomUUID()}`, members)
const withArguments = /"(?:args|arguments|input)"\s*:\s*[{[]/

/** The JSON text of an answer for its client. */
export const hiddenNumbers = (text: string): string =>
  withArguments.test(text) ? numbers.hide(text) : text

/** Arguments as the provider gave them. */
export const restoredNumbers = (text: string): string => numbers.restored(text)

/** After the last line that is whole; 0 = none is. */
const endOfLines = (bytes: Uint8Array): number =>
  Math.max(bytes.lastIndexOf(10), bytes.lastIndexOf(13)) + 1

/** The same for a stream of events. A line is passed on when all of it was read; no client reads a part of one. */
export class HiddenInEvents {
  #pieces: Array<Uint8Array> = []

  /** What can be passed on now; undefined = nothing yet. */
  push(chunk: Uint8Array): Uint8Array | undefined {
    const end = endOfLines(chunk)
    this.#pieces.push(end === 0 ? chunk : chunk.subarray(0, end))
    if (end === 0) return undefined
    const lines = this.rest()
    if (end < chunk.length) this.#pieces.push(chunk.subarray(end))
    return lines
  }

  /** What is left of a line that has no end; undefined = nothing. */
  rest(): Uint8Array | undefined {
    const [first, ...more] = this.#pieces
    this.#pieces = []
    if (first === undefined) return undefined
    const bytes = more.length === 0 ? first : Buffer.concat([first, ...more])
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")
    const hidden = text.replace(/[^\r\n]+/g, hiddenNumbers)
    return hidden === text ? bytes : Buffer.from(hidden)
  }
}
