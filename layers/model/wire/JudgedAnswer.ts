/**
 * Checks answers of providers against bounds before their clients parse them: an answer that is too large, too deep or has too
 * many values fails. It parses events itself and passes the bytes on, with numbers of arguments hidden from the client
 * (`ArgumentNumbers.ts`); it completes a last event that lacks its blank line. Private to this room.
 */
import { Result } from "effect"
import type { JsonBounds } from "../../../src/value/BoundedJson.ts"
import { jsonTextRefusal, readJson } from "../../../src/value/BoundedJson.ts"
import { eventData, EventStreamParser } from "../../../src/value/EventStreamParser.ts"
import { isLast } from "./AnswerEnd.ts"
import { HiddenInEvents, hiddenNumbers } from "./ArgumentNumbers.ts"
import type { Known } from "./BodyKind.ts"

/** The largest answer, in bytes on the wire. */
const response_bytes_max = 32_000_000

/**
 * The bounds of an answer. They are deeper than those of arguments, which some providers return as objects, so that a call that
 * is too deep is reported to the model. Of a repeated member the last counts, as in every client.
 */
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

/** A stream that fails once the body is larger than an answer may be. `heard` is called with each piece. */
export const boundedBody = (heard: () => void): TransformStream<Uint8Array, Uint8Array> => {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      heard()
      bytes += chunk.byteLength
      if (bytes > response_bytes_max) throw new AnswerRefused("it is too large")
      controller.enqueue(chunk)
    }
  })
}

/** Collects a body that is one JSON text, and passes it on when it is complete and checked. */
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

/**
 * Checks each event before its last line is passed on; no client reads an event without that line. The stream ends with the last
 * event.
 */
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
