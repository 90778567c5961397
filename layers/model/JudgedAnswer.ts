/**
 * Checks answers of providers against bounds before their clients parse them: an answer that is larger, nests deeper or
 * holds more values fails. It reads events itself and passes the bytes on unchanged, so that it sees what the client
 * will see. Private to this room.
 */
import type { JsonBounds } from "../../src/entry/BoundedJson.ts"
import { jsonTextRefusal } from "../../src/entry/BoundedJson.ts"
import { eventData, EventTexts } from "../../src/entry/EventText.ts"
import { isLast } from "./AnswerEnd.ts"
import type { Known } from "./BodyKind.ts"

/** The largest answer, in bytes on the wire. */
const response_bytes_max = 32_000_000

/**
 * Deeper than arguments may be, which some wires give as objects: such a call is told to the model. A member that stands
 * twice is read as every client reads it.
 */
const bounds_answer: JsonBounds = {
  depth_max: 192,
  values_max: 2_000_000,
  units_max: response_bytes_max,
  repeats: "last"
}

/** Thrown through a client. Asked again, the provider would say the same. */
class AnswerRefused extends Error {
  override readonly name = "AnswerRefused"
}

/** The refusal in a chain of causes: clients wrap the errors that they catch. */
export const answerRefused = (error: unknown): AnswerRefused | undefined => {
  let current = error
  for (let depth = 0; current instanceof Error && depth < 8; depth++) {
    if (current instanceof AnswerRefused) return current
    current = current.cause
  }
  return undefined
}

const judge = (text: string): void => {
  const refused = text === "" ? undefined : jsonTextRefusal(text, bounds_answer)
  if (refused !== undefined) throw new AnswerRefused(refused.message)
}

/** Ends with an error once the body is larger than an answer may be. `heard` is called with each piece. */
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

/** A body that is one text is given on when all of it is there. */
const collected = (): TransformStream<Uint8Array, Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  return new TransformStream({
    transform: (chunk) => void chunks.push(chunk),
    flush(controller) {
      const body = Buffer.concat(chunks)
      judge(body.toString("utf8"))
      controller.enqueue(body)
    }
  })
}

/** Checks an event before its last line is passed on, without which no client reads it. The stream ends with the last one. */
const events = (onLast: () => void): TransformStream<Uint8Array, Uint8Array> => {
  const decoder = new TextDecoder()
  const texts = new EventTexts()
  return new TransformStream({
    transform(chunk, controller) {
      let isOver = false
      for (const event of texts.push(decoder.decode(chunk, { stream: true }))) {
        const data = eventData(event)
        judge(data)
        isOver ||= isLast(event, data)
      }
      controller.enqueue(chunk)
      if (!isOver) return
      onLast()
      controller.terminate()
    },
    flush: () => judge(eventData(texts.rest()))
  })
}

/** The body, checked as it is read. `onLast` is called once its last event is there. */
export const judgedBody = ({ body, isJson }: Known, onLast: () => void): Known => ({
  isJson,
  body: body.pipeThrough(isJson ? collected() : events(onLast))
})
