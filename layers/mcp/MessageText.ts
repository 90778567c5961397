/**
 * Checks the messages of a server against the bounds of JSON before they are parsed. An answer beyond them is replaced
 * by an error for the call that waits for it. It reads events as lines and passes them on as they came, because the
 * official client parses them again and must see the same. Private to this room.
 */
import { randomUUID } from "node:crypto"
import type { JSONRPCMessage } from "@modelcontextprotocol/client"
import { HiddenNumbers } from "../../src/value/JsonText.ts"
import type { McpCallResult } from "../../src/mcp/McpResult.ts"
import { unknownBlock } from "../../src/mcp/McpResult.ts"
import type { Sdk } from "./Sdk.ts"
import type { JsonBounds } from "../../src/value/BoundedJson.ts"
import { bounds_result, jsonTextRefusal, topLevelScalars } from "../../src/value/BoundedJson.ts"
import { eventData, EventStreamParser, isDataLine } from "../../src/value/EventStreamParser.ts"

/** The code of the error that replaces an answer beyond the bounds; its message becomes part of the tool's failure. */
export const answer_refused = -32_098

/** Numbers of structured content that a double cannot hold, which the client would alter. Elsewhere nobody acts upon them. */
const numbers = new HiddenNumbers(`troupe-${randomUUID()}`, ["structuredContent"])
const bounds_message: JsonBounds = { ...bounds_result, inexact: "round" }

/** The result with the numbers that `judgedText` has hidden from the client. */
export const withNumbers = (result: McpCallResult): McpCallResult =>
  result.structuredContent === undefined
    ? result
    : { ...result, structuredContent: numbers.revealed(result.structuredContent) }

/** The text, or an error in place of an answer beyond the bounds; undefined for any other refused message. */
export const judgedText = (text: string): string | undefined => {
  const hidden = numbers.hide(text)
  const refused = jsonTextRefusal(hidden, bounds_message)
  if (refused === undefined) return hidden
  const members = topLevelScalars(text)
  const id = members.has("method") ? undefined : members.get("id")
  if (id === undefined) return undefined
  const error = { code: answer_refused, message: `its answer is refused: ${refused.message}` }
  return JSON.stringify({ jsonrpc: "2.0", id, error })
}

/** The message with each content block that the client does not know replaced by its description: it would refuse the rest too. */
export const legible = (sdk: Sdk, message: JSONRPCMessage): JSONRPCMessage => {
  if (!("result" in message) || !Array.isArray(message.result["content"])) return message
  const blocks: ReadonlyArray<unknown> = message.result["content"]
  if (blocks.every((block) => sdk.isSpecType.ContentBlock(block))) return message
  const content = blocks.map((block) =>
    sdk.isSpecType.ContentBlock(block) ? block : { type: "text", text: unknownBlock(block) }
  )
  return { ...message, result: { ...message.result, content } }
}

const encoder = new TextEncoder()

/** For a body with one message: passes it on when all of it was read and checked. The client refuses what is not JSON. */
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

const judgedEvent = (lines: ReadonlyArray<string>): string => {
  const text = eventData(lines)
  const judged = text === "" ? text : judgedText(text)
  if (judged === text) return [...lines, "", ""].join("\n")
  const kept = lines.filter((line) => !isDataLine(line))
  return [...kept, ...(judged === undefined ? [] : [`data: ${judged}`]), "", ""].join("\n")
}

/** Events of one stream that are passed on within a second. The rest wait, and the server with them. */
const events_per_s_max = 1_000

/** For a stream of events: passes each on when all of it was read and checked. */
export const judgedEvents = (): TransformStream<Uint8Array, Uint8Array> => {
  const decoder = new TextDecoder()
  const parser = new EventStreamParser()
  let since = 0
  let passed = 0
  return new TransformStream({
    transform: async (chunk, controller) => {
      for (const event of parser.push(decoder.decode(chunk, { stream: true }))) {
        const left_ms = since + 1_000 - performance.now()
        if (left_ms > 0 && passed >= events_per_s_max) {
          await new Promise((resolve) => setTimeout(resolve, left_ms))
        }
        if (left_ms <= 0 || passed >= events_per_s_max) {
          since = performance.now()
          passed = 0
        }
        passed++
        controller.enqueue(encoder.encode(judgedEvent(event)))
      }
    }
  })
}
