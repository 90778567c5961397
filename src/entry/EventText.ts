/**
 * Server-sent events from outside as their lines, before anybody reads them: each piece of a stream is looked at once,
 * however many pieces a line comes in.
 */

/** Events of a stream, in the order of its pieces. Lines end with any of the three ends that they may have. */
export class EventTexts {
  #line: Array<string> = []
  #event: Array<string> = []
  /** The piece before ended with a carriage return: a line feed that follows belongs to it. */
  #isReturn = false

  /** The events that end in this piece, each as its lines. */
  of(piece: string): ReadonlyArray<ReadonlyArray<string>> {
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

  /** What came after the last event: the lines of one that did not end. */
  rest(): ReadonlyArray<string> {
    return [...this.#event, this.#line.join("")]
  }
}

export const isDataLine = (line: string): boolean => /^data(?::|$)/.test(line)

/** What an event says; empty if nothing. */
export const eventData = (event: ReadonlyArray<string>): string =>
  event
    .filter(isDataLine)
    .map((line) => line.replace(/^data:? ?/, ""))
    .join("\n")
