/**
 * Splits a stream of server-sent events into events and lines. Each piece of the stream is scanned once, however many
 * pieces a line spans.
 */

/** Collects the pieces of one stream. Lines may end with CR, LF or CRLF. */
export class EventStreamParser {
  #line: Array<string> = []
  #event: Array<string> = []
  /** True = the previous piece ended with a carriage return, so a line feed at the start of the next one belongs to it. */
  #isReturn = false

  /** Adds the next piece. Returns the events that end in it, each as its lines. */
  push(piece: string): ReadonlyArray<ReadonlyArray<string>> {
    const events: Array<ReadonlyArray<string>> = []
    const text = this.#isReturn && piece.startsWith("\n") ? piece.slice(1) : piece
    if (piece !== "") this.#isReturn = piece.endsWith("\r")
    let from = 0
    for (const { 0: end, index } of text.matchAll(/\r\n|\r|\n/g)) {
      const line = this.#line.join("") + text.slice(from, index)
      this.#line = []
      from = index + end.length
      if (line !== "") this.#event.push(line)
      else {
        events.push(this.#event)
        this.#event = []
      }
    }
    if (from < text.length) this.#line.push(text.slice(from))
    return events
  }

  /** The lines of the last event if it has not ended; a single empty line otherwise. */
  rest(): ReadonlyArray<string> {
    return [...this.#event, this.#line.join("")]
  }
}

export const isDataLine = (line: string): boolean => /^data(?::|$)/.test(line)

/** The data of an event; empty if it has none. */
export const eventData = (event: ReadonlyArray<string>): string =>
  event
    .filter(isDataLine)
    .map((line) => line.replace(/^data:? ?/, ""))
    .join("\n")
