/**
 * Reads bodies of answers before the clients of providers do. An answer that is too large, too deep or has too many values fails.
 * It parses events itself and passes the bytes on, with numbers of arguments hidden from the client; it completes a last event
 * that lacks its blank line, and finds the end of an answer whose connection stays open. Private to this room.
 */
import { Result } from "effect"
import type { JsonBounds } from "../../../src/value/BoundedJson.ts"
import { jsonTextRefusal, readJson } from "../../../src/value/BoundedJson.ts"
import { eventData, EventStreamParser } from "../../../src/value/EventStreamParser.ts"
import { HiddenNumbers } from "../../../src/value/JsonText.ts"
import { randomUUID } from "node:crypto"

/** Some clients wait for the end of a connection that stays open; others stop reading before it, which closes the connection. */
const last_type = "(?:response\\.(?:completed|incomplete|failed)|message_stop|message-end)"
const last_name = new RegExp(`^event: ?${last_type}$`)
const last_begin = new RegExp(`^\\s*\\{\\s*"type"\\s*:\\s*"${last_type}"`)

/** Whether an event ends an answer of chat completions, Responses, Anthropic or Cohere. Gemini has no such event. */
const isLast = (event: ReadonlyArray<string>, data: string): boolean =>
  data === "[DONE]" || last_begin.test(data) || event.some((line) => last_name.test(line))

/** How long, in ms, and how many bytes after the last event the end of the connection may come. */
const end_ms_max = 200
const end_bytes_max = 65_536

/** Reads a body to its end, so that the connection can serve the next request. A connection that does not end soon is closed. */
const readToEnd = async (reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> => {
  const late = setTimeout(() => void reader.cancel().catch(() => {}), end_ms_max)
  try {
    for (let bytes = 0; bytes < end_bytes_max;) {
      const { value } = await reader.read()
      if (value === undefined) return
      bytes += value.byteLength
    }
    await reader.cancel()
  } catch {
    // The answer is there: nobody asks how its connection ended.
  } finally {
    clearTimeout(late)
  }
}

/** The same body, except that a reader who cancels it after `isOver` is true does not close its connection. */
export const leavable = (
  body: ReadableStream<Uint8Array>,
  isOver: () => boolean
): ReadableStream<Uint8Array> => {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value } = await reader.read()
      if (value === undefined) controller.close()
      else controller.enqueue(value)
    },
    cancel(reason) {
      if (!isOver()) return reader.cancel(reason)
      void readToEnd(reader)
      return undefined
    }
  })
}

/** White space and a byte order mark, which are skipped; at most 65,536 bytes of them. */
const blank = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf])
const blank_bytes_max = 65_536

export interface Known {
  readonly isJson: boolean
  readonly isFrames: boolean
  /** The complete body, including the part that was read to recognise it. */
  readonly body: ReadableStream<Uint8Array>
}

/** By its first character, because the content type may be wrong. Amazon's streams are frames of bytes, which begin with a zero. */
export const kindOf = async (body: ReadableStream<Uint8Array>): Promise<Known> => {
  const reader = body.getReader()
  const read: Array<Uint8Array> = []
  let bytes = 0
  let first: number | undefined
  let done = false
  while (first === undefined && !done && bytes < blank_bytes_max) {
    const piece = await reader.read()
    done = piece.done
    if (piece.value === undefined) continue
    read.push(piece.value)
    bytes += piece.value.byteLength
    first = piece.value.find((byte) => !blank.has(byte))
  }
  const again = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const early = read.shift()
      if (early !== undefined) return controller.enqueue(early)
      const piece = done ? undefined : await reader.read()
      if (piece?.value !== undefined) controller.enqueue(piece.value)
      else controller.close()
    },
    cancel: (reason) => reader.cancel(reason)
  })
  return { isJson: first === 0x7b || first === 0x5b, isFrames: first === 0, body: again }
}

/** Arguments as objects: clients would alter numbers that a double cannot hold, so these are hidden and judged with the arguments. */
const members = ["args", "arguments", "input"]
const numbers = new HiddenNumbers(`troupe-${randomUUID()}`, members)
const withArguments = /"(?:args|arguments|input)"\s*:\s*[{[]/

const hiddenNumbers = (text: string): string =>
  withArguments.test(text) ? numbers.hide(text) : text

/** The text with each line changed. Not by a pattern: in a process with much code one fails on a line of some million characters. */
const inLines = (text: string, change: (line: string) => string): string =>
  text
    .split("\n")
    .map((line) => line.split("\r").map(change).join("\r"))
    .join("\n")

export const restoredNumbers = (text: string): string => numbers.restored(text)

/** After the last line that is whole; 0 = none is. */
const endOfLines = (bytes: Uint8Array): number =>
  Math.max(bytes.lastIndexOf(10), bytes.lastIndexOf(13)) + 1

/** The same for a stream of events. A line is passed on when all of it was read; no client reads a part of one. */
class HiddenInEvents {
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
    const hidden = inLines(text, hiddenNumbers)
    return hidden === text ? bytes : Buffer.from(hidden)
  }
}

/** When bytes last arrived, by the request's signal: an endpoint may keep a connection alive with comments. */
const times = new WeakMap<AbortSignal, number>()

/** The time since the last bytes arrived, in ms. Infinity = none have arrived, or the client uses its own fetch. */
export const sinceBytes = (signal: AbortSignal): number => {
  const at = times.get(signal)
  return at === undefined ? Infinity : performance.now() - at
}

/** The largest answer, in bytes on the wire. */
const response_bytes_max = 32_000_000

/** Deeper than those of arguments, so that a call that is too deep is reported to the model. Of a repeated member the last counts. */
const bounds_answer: JsonBounds = {
  depth_max: 192,
  values_max: 2_000_000,
  units_max: response_bytes_max,
  repeats: "last",
  inexact: "round"
}

const blank_line = new TextEncoder().encode("\n\n")

/** The refusal, thrown through a client. It is not retried, because the provider would answer the same. */
class AnswerRefused extends Error {
  override readonly name = "AnswerRefused"
}

/** Finds the refusal in a chain of causes, because clients wrap the errors that they catch. */
export const answerRefused = (error: unknown): AnswerRefused | undefined => {
  let current = error
  for (let depth = 0; current instanceof Error && depth < 8; depth++) {
    if (current instanceof AnswerRefused) return current
    current = current.cause
  }
  return undefined
}

/** Judges a text as its client reads it: a number in arguments is judged where arguments are, however large it is. */
const judge = (text: string): void => {
  const refused = text === "" ? undefined : jsonTextRefusal(text, bounds_answer)
  if (refused !== undefined) throw new AnswerRefused(refused.message)
}

/** A stream that fails once the body is larger than an answer may be, and records when its bytes arrive. */
export const boundedBody = (
  signal: AbortSignal | null | undefined
): TransformStream<Uint8Array, Uint8Array> => {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      if (signal !== null && signal !== undefined) times.set(signal, performance.now())
      bytes += chunk.byteLength
      if (bytes > response_bytes_max) throw new AnswerRefused("it is too large")
      controller.enqueue(chunk)
    }
  })
}

const collected = (): TransformStream<Uint8Array, Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  return new TransformStream({
    transform: (chunk) => void chunks.push(chunk),
    flush(controller) {
      const text = hiddenNumbers(Buffer.concat(chunks).toString("utf8"))
      judge(text)
      controller.enqueue(Buffer.from(text))
    }
  })
}

const pass = (
  controller: TransformStreamDefaultController<Uint8Array>,
  bytes: Uint8Array | undefined
): void => {
  if (bytes !== undefined) controller.enqueue(bytes)
}

/** Checks each event before its last line is passed on; no client reads an event without it. The stream ends with the last event. */
const events = (onLast: () => void): TransformStream<Uint8Array, Uint8Array> => {
  const decoder = new TextDecoder()
  const parser = new EventStreamParser()
  const lines = new HiddenInEvents()
  return new TransformStream({
    transform(chunk, controller) {
      let isOver = false
      for (const event of parser.push(decoder.decode(chunk, { stream: true }))) {
        const data = eventData(event)
        judge(hiddenNumbers(data))
        isOver ||= isLast(event, data)
      }
      pass(controller, lines.push(chunk))
      if (!isOver) return
      pass(controller, lines.rest())
      onLast()
      controller.terminate()
    },
    flush(controller) {
      const data = hiddenNumbers(eventData(parser.rest()))
      judge(data)
      pass(controller, lines.rest())
      // A server may leave out the blank line behind its last event. One that was cut is no whole JSON, and stays unread.
      if (data === "[DONE]" || Result.isSuccess(readJson(data, bounds_answer))) {
        controller.enqueue(blank_line)
      }
    }
  })
}

/** The body, checked as it is read, but for frames, whose reader is their client. `onLast`: its last event has arrived. */
export const judgedBody = (known: Known, onLast: () => void): Known =>
  known.isFrames
    ? known
    : { ...known, body: known.body.pipeThrough(known.isJson ? collected() : events(onLast)) }
