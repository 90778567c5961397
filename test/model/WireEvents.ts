/** What providers send in their wires, and the turns that come of it over real HTTP. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { serve, status } from "./ChatServer.ts"
import type { Answer } from "./ChatServer.ts"
import { askAt, bytesOf, pieces } from "./Wires.ts"
import type { Asking } from "./Wires.ts"
import type { Wire } from "./WireTurns.ts"

export const plain: Asking = { env: { TROUPE_MODEL_STREAM: "off" } }

export const turnOf = (wire: Wire, answers: ReadonlyArray<Answer>, asking?: Asking) =>
  Effect.gen(function* () {
    const server = yield* serve(answers)
    const { deltas, turn } = yield* askAt(wire, server, asking)
    return { turn, deltas, asked: server.asked }
  }).pipe(Effect.scoped)

/** The turn of these events, whole and in pieces of 7 bytes, and of the whole answer where there is one. */
export const turnsOf = (wire: Wire, events: ReadonlyArray<object>, whole?: object) =>
  Effect.gen(function* () {
    const text = bytesOf(wire, events)
    const one = yield* turnOf(wire, [pieces(text, [text.length])])
    const many = yield* turnOf(wire, [pieces(text, [7])])
    assert.deepStrictEqual(many.turn, one.turn)
    if (whole === undefined) return [one.turn]
    const other = yield* turnOf(wire, [status(200, whole)], plain)
    return [one.turn, other.turn]
  })

export const chunk = (choice: object) => ({
  id: "1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, finish_reason: null, ...choice }]
})
export const delta = (said: object) => chunk({ delta: said })
export const end = (finish_reason: string) => chunk({ delta: {}, finish_reason })
export const whole = (message: object | undefined, finish_reason: string) => ({
  id: "1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, finish_reason, ...(message === undefined ? {} : { message }) }]
})

export const claudeStart = {
  type: "message_start",
  message: {
    id: "msg",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 1 }
  }
}
export const claudeBlock = (
  index: number,
  content_block: object,
  ...deltas: ReadonlyArray<object>
) => [
  { type: "content_block_start", index, content_block },
  ...deltas.map((each) => ({ type: "content_block_delta", index, delta: each })),
  { type: "content_block_stop", index }
]
export const claudeEnd = (stop_reason: string) => [
  {
    type: "message_delta",
    delta: { stop_reason, stop_sequence: null },
    usage: { input_tokens: 3, output_tokens: 9 }
  },
  { type: "message_stop" }
]
export const claudeWhole = (content: ReadonlyArray<object>, stop_reason: string) => ({
  ...claudeStart.message,
  content,
  stop_reason
})
