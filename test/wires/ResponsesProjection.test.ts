/**
 * Runs at random as responses: what the field's own client makes of the events, live and read again, is the object that the service has of
 * the response, and numbers never go back.
 */
import { ResponseStream } from "openai/lib/responses/ResponseStream"
import { assert, describe, it } from "vitest"
import { WireReader } from "../../layers/http/wires/WireStream.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { ApprovalId } from "../../src/value/Ids.ts"
import type { Frame } from "../../src/wire/Responses.ts"
import { behindNumber, Responses } from "../../src/wire/Responses.ts"
import * as Samples from "../contracts/Samples.ts"
import { either } from "../Long.ts"
import { run } from "../run/Interleaving.ts"
import { caughtUp, conversation, eventItem, eventsIn, watched } from "./RandomRuns.ts"

interface Read {
  readonly frames: ReadonlyArray<Frame>
  readonly response: object
  readonly isOver: boolean
  readonly taken: number
}

const read = (
  items: ReadonlyArray<FeedItem>,
  isCustomer: boolean,
  answered: ReadonlyArray<ApprovalId> = []
): Read => {
  const by = Samples.principal(isCustomer ? ["customer"] : ["operator"])
  const maker = new Responses({ run, answered, agent: AgentName.make("clerk"), created_at: 0 })
  const frames: Array<Frame> = [...maker.first]
  let isShown = answered.length === 0
  const texts = {
    start: "",
    next: (step: Parameters<Responses["next"]>[0], { seq }: { readonly seq: number }) => {
      const next = maker.next(step, seq)
      if (isShown || step._tag === "Ended") frames.push(...next)
      return ""
    },
    failed: () => "",
    end: () => "",
    begin: () => {
      isShown = true
      maker.begin()
    }
  }
  const shown = { run, conversation, ordinal: 1, answered, isStretch: true }
  const reader = new WireReader(texts, by, shown)
  let taken = 0
  for (const item of items) {
    reader.textOf(item)
    taken++
    if (reader.isOver) break
  }
  return { frames, response: maker.response, isOver: reader.isOver, taken }
}

/** What the client has in the end. */
const accumulated = async (frames: ReadonlyArray<Frame>) => {
  const lines = frames.map((frame) => `${JSON.stringify(frame)}\n`).join("")
  const stream = ResponseStream.fromReadableStream(new Response(lines).body!)
  const { output_parsed: _parsed, output_text: _text, ...response } = await stream.finalResponse()
  return JSON.parse(
    JSON.stringify(response, (name, value) => (name === "parsed" ? undefined : value))
  ) as object
}

const assertSame = async ({ frames, response }: Read) => {
  const numbers = frames.map(({ sequence_number }) => sequence_number)
  assert.deepStrictEqual(
    numbers,
    [...numbers].sort((a, b) => a - b)
  )
  assert.deepStrictEqual(await accumulated(frames), JSON.parse(JSON.stringify(response)))
}

/** A text that began anew has another id for who saw it begin. */
const withoutAttempts = (response: object): unknown =>
  JSON.parse(JSON.stringify(response).replaceAll(/(msg_[^"]*?\/\d+)\.\d+"/g, '$1"'))

const followed = async (seed: number, isCustomer: boolean): Promise<number> => {
  const { events, live, mayAnswer, random } = watched(seed, isCustomer)
  let answers = 0
  let at = 0
  let answered: ReadonlyArray<ApprovalId> = []
  for (;;) {
    const known = live.slice(0, at).filter(({ _tag }) => _tag === "Event")
    const items = [...known, caughtUp, ...live.slice(at)]
    const now = read(items, isCustomer, answered)
    if (!now.isOver) return answers
    await assertSame(now)
    // The journal alone, with all that has happened since.
    const again = read([...events.map(eventItem), caughtUp], isCustomer, answered)
    await assertSame(again)
    assert.deepStrictEqual(withoutAttempts(again.response), withoutAttempts(now.response))
    // Behind any number: what a client has, and what it is sent, are the whole.
    const seen = again.frames[Math.floor(random() * again.frames.length)]!.sequence_number
    const textOf = (frames: ReadonlyArray<Frame>) =>
      frames.map(({ delta = "" }) => String(delta)).join("")
    const had = again.frames.filter(({ sequence_number }) => sequence_number <= seen)
    const rest = again.frames.flatMap((frame) => behindNumber(frame, seen) ?? [])
    assert.strictEqual(textOf(had) + textOf(rest), textOf(again.frames))
    const length = eventsIn(items, now.taken)
    const next = events[length]
    if (next?._tag !== "ApprovalDecided" || !mayAnswer(next.approval)) return answers
    answers++
    answered = [next.approval]
    at = live.findIndex((item) => item._tag === "Event" && item.entry.seq === length) + 1
  }
}

describe("a run as responses", () => {
  for (const isCustomer of [false, true]) {
    it(`is what the client makes of its events, for ${isCustomer ? "a customer" : "staff"}`, async () => {
      let answers = 0
      for (let seed = 0; seed < either(300, 4_000); seed++) {
        try {
          answers += await followed(seed, isCustomer)
        } catch (error) {
          throw new Error(`seed ${seed}`, { cause: error })
        }
      }
      assert.isAbove(answers, 5)
    })
  }
})
