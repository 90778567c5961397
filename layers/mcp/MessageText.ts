/**
 * Messages of a server as they come, judged before anybody parses them: a text beyond the bounds of JSON from outside never
 * reaches a parser. An answer beyond them becomes an error for whoever waits for it. Private to this room.
 */
import { bounds_result, refusalOfText, scalarsOfText } from "../../src/entry/BoundedJson.ts"

/** JSON-RPC's code for a failure within; the text is shown with the tool's failure. */
const internal_error = -32_603

/**
 * The same text, or an error in the place of an answer that is refused; undefined where it cannot be said whose answer it
 * is, and where it is none.
 */
export const judgedText = (text: string): string | undefined => {
  const refused = refusalOfText(text, bounds_result)
  if (refused === undefined) return text
  const members = scalarsOfText(text)
  const id = members.has("method") ? undefined : members.get("id")
  if (id === undefined) return undefined
  const error = { code: internal_error, message: `its answer is refused: ${refused.message}` }
  return JSON.stringify({ jsonrpc: "2.0", id, error })
}

const encoder = new TextEncoder()

/** A body that is one text: given on when all of it is there and was judged. What is no JSON is for the client to refuse. */
export const judgedBody = (): TransformStream<Uint8Array, Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  return new TransformStream({
    transform: (chunk) => void chunks.push(chunk),
    flush: (controller) => {
      const text = Buffer.concat(chunks).toString("utf8")
      const judged = /^[\s\ufeff]*[{[]/.test(text.slice(0, 1_000)) ? judgedText(text) : text
      if (judged === undefined) controller.error(new Error("an answer that is refused"))
      else if (judged !== "") controller.enqueue(encoder.encode(judged))
    }
  })
}

/** Lines of text of which each chunk is looked at once, whichever of the three ends of a line they have. */
class Lines {
  readonly #decoder = new TextDecoder()
  #parts: Array<string> = []
  /** The chunk before ended with a carriage return: a line feed that follows belongs to it. */
  #isReturn = false

  /** The lines that end in this chunk. */
  of(chunk: Uint8Array): ReadonlyArray<string> {
    const found: Array<string> = []
    let text = this.#decoder.decode(chunk, { stream: true })
    if (text === "") return found
    if (this.#isReturn && text.startsWith("\n")) text = text.slice(1)
    this.#isReturn = text.endsWith("\r")
    let from = 0
    for (const { 0: end, index } of text.matchAll(/\r\n|\r|\n/g)) {
      this.#parts.push(text.slice(from, index))
      found.push(this.#parts.join(""))
      this.#parts = []
      from = index + end.length
    }
    if (from < text.length) this.#parts.push(text.slice(from))
    return found
  }
}

const isData = (line: string): boolean => /^data(?::|$)/.test(line)

/** An event as it came, with other data, or without any. */
const judgedEvent = (lines: ReadonlyArray<string>): string => {
  const text = lines
    .filter(isData)
    .map((line) => line.replace(/^data:? ?/, ""))
    .join("\n")
  const judged = text === "" ? text : judgedText(text)
  if (judged === text) return [...lines, "", ""].join("\n")
  const kept = lines.filter((line) => !isData(line))
  return [...kept, ...(judged === undefined ? [] : [`data: ${judged}`]), "", ""].join("\n")
}

/** A stream of events: each is given on when all of it is there and was judged. */
export const judgedEvents = (): TransformStream<Uint8Array, Uint8Array> => {
  const lines = new Lines()
  let event: Array<string> = []
  return new TransformStream({
    transform: (chunk, controller) => {
      for (const line of lines.of(chunk)) {
        if (line !== "") event.push(line)
        else {
          controller.enqueue(encoder.encode(judgedEvent(event)))
          event = []
        }
      }
    }
  })
}
