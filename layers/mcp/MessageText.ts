/**
 * Messages of a server as they come, judged before anybody parses them: a text beyond the bounds of JSON from outside never
 * reaches a parser. An answer beyond them becomes an error for whoever waits for it. Private to this room.
 */
import { bounds_result, refusalOfText, scalarsOfText } from "../../src/entry/BoundedJson.ts"
import { dataOf, EventTexts, isData } from "../../src/entry/EventText.ts"

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

/** An event as it came, with other data, or without any. */
const judgedEvent = (lines: ReadonlyArray<string>): string => {
  const text = dataOf(lines)
  const judged = text === "" ? text : judgedText(text)
  if (judged === text) return [...lines, "", ""].join("\n")
  const kept = lines.filter((line) => !isData(line))
  return [...kept, ...(judged === undefined ? [] : [`data: ${judged}`]), "", ""].join("\n")
}

/** A stream of events: each is given on when all of it is there and was judged. */
export const judgedEvents = (): TransformStream<Uint8Array, Uint8Array> => {
  const decoder = new TextDecoder()
  const texts = new EventTexts()
  return new TransformStream({
    transform: (chunk, controller) => {
      for (const event of texts.of(decoder.decode(chunk, { stream: true }))) {
        controller.enqueue(encoder.encode(judgedEvent(event)))
      }
    }
  })
}
