/**
 * Runs at random, cut anywhere: what the AI SDK's own reducer makes of the chunks is the same live, resumed, read again from the journal,
 * and in the history that the service gives.
 */
import { readUIMessageStream, uiMessageChunkSchema } from "ai"
import type { UIMessage, UIMessageChunk } from "ai"
import { assert, describe, it } from "vitest"
import { WireReader } from "../../layers/http/wires/WireStream.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { ApprovalId } from "../../src/value/Ids.ts"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import { UiHistory } from "../../src/wire/UiHistory.ts"
import { ui_end, uiFrame, UiMessages } from "../../src/wire/UiMessages.ts"
import * as Samples from "../contracts/Samples.ts"
import { either } from "../Long.ts"
import { run } from "../run/Interleaving.ts"
import { caughtUp, conversation, eventItem, eventsIn, watched } from "./RandomRuns.ts"

const fileAt = (digest: string) => `/files/${digest}`

const texts = () => {
  const messages = new UiMessages({ run, conversation, fileAt })
  return {
    start: uiFrame(messages.start),
    next: (step: Parameters<UiMessages["next"]>[0], { cursor }: { readonly cursor: string }) =>
      messages.next(step, cursor).map(uiFrame).join(""),
    failed: () => "",
    end: () => ui_end
  }
}

interface Read {
  readonly frames: string
  readonly isOver: boolean
  /** How many items were taken. */
  readonly taken: number
}

const read = (
  items: ReadonlyArray<FeedItem>,
  isCustomer: boolean,
  answered: ReadonlyArray<ApprovalId> = []
): Read => {
  const by = Samples.principal(isCustomer ? ["customer"] : ["operator"])
  const own = texts()
  const reader = new WireReader(own, by, { run, conversation, ordinal: 1, answered })
  let frames = own.start
  let taken = 0
  for (const item of items) {
    frames += reader.textOf(item)
    taken++
    if (reader.isOver) break
  }
  return { frames, isOver: reader.isOver, taken }
}

const chunksOf = (frames: string): ReadonlyArray<UIMessageChunk> =>
  frames
    .split("\n\n")
    .filter((frame) => frame !== "" && frame !== "data: [DONE]")
    .map((frame) => JSON.parse(frame.slice("data: ".length)) as UIMessageChunk)

/** What the client has of it, after what it had before. */
const reduced = async (frames: string, before?: UIMessage): Promise<UIMessage> => {
  const chunks = chunksOf(frames)
  for (const chunk of chunks) {
    const checked = await uiMessageChunkSchema().validate!(chunk)
    assert.isTrue(checked.success, JSON.stringify(chunk))
  }
  let last: UIMessage | undefined = before
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    }
  })
  const given = before === undefined ? {} : { message: structuredClone(before) }
  // A run that failed says so by an error, which takes nothing away.
  for await (const message of readUIMessageStream({ stream, ...given, onError: () => {} })) {
    last = message
  }
  return JSON.parse(JSON.stringify(last)) as UIMessage
}

/** Without steps that show nothing: an attempt was told, and the turn that came instead has only calls, which customers do not see. */
const withoutEmptySteps = (message: UIMessage): UIMessage => ({
  ...message,
  parts: message.parts.filter(
    ({ type }, at, all) =>
      type !== "step-start" || (at + 1 < all.length && all[at + 1]?.type !== "step-start")
  )
})

/** The same from the journal alone, by the reducer and in the service's history. */
const again = async (events: ReadonlyArray<RunEvent>, isCustomer: boolean) => {
  const items = events.map(eventItem)
  const history = new UiHistory({ conversation, isCustomer, fileAt })
  for (const [seq, item] of items.entries()) history.add(item, `1.${seq}`)
  const { frames } = read([...items, caughtUp], isCustomer)
  const message = await reduced(frames)
  const [said, answer] = history.messages
  assert.strictEqual(said?.role, "user")
  assert.deepStrictEqual(JSON.parse(JSON.stringify(answer)), message)
  return message
}

const followed = async (seed: number, isCustomer: boolean): Promise<number> => {
  const { events, live, mayAnswer, random } = watched(seed, isCustomer)
  const first = read([caughtUp, ...live], isCustomer)
  let message = await reduced(first.frames)
  let length = eventsIn(live, first.taken - 1)
  if (!first.isOver) return 0
  // Somebody who comes back reads the journal from the first event, and goes on live within a turn or behind it.
  const cut = Math.floor(random() * (first.taken - 1))
  const seen = live.slice(0, cut).filter(({ _tag }) => _tag === "Event")
  const resumed = read([...seen, caughtUp, ...live.slice(cut)], isCustomer)
  const whole = await again(events.slice(0, length), isCustomer)
  const back = await reduced(resumed.frames)
  assert.deepStrictEqual(withoutEmptySteps(back), withoutEmptySteps(whole))
  let answers = 0
  for (;;) {
    const whole = await again(events.slice(0, length), isCustomer)
    assert.deepStrictEqual(withoutEmptySteps(message), withoutEmptySteps(whole))
    const next = events[length]
    if (next?._tag !== "ApprovalDecided" || !mayAnswer(next.approval)) return answers
    answers++
    // The client answers, and is told what it does not have.
    const at = live.findIndex((item) => item._tag === "Event" && item.entry.seq === length)
    const known = live.slice(0, at + 1).filter(({ _tag }) => _tag === "Event")
    const more = [...known, caughtUp, ...live.slice(at + 1)]
    const on = read(more, isCustomer, [next.approval])
    if (!on.isOver) return answers
    message = await reduced(on.frames, message)
    length = eventsIn(more, on.taken)
  }
}

describe("a run as UI messages", () => {
  it("shows staff what a call shows before it ends, and customers nothing of it", () => {
    const call = callId(rootFrame, 1, 0)
    const output: FeedItem = {
      _tag: "Output",
      run,
      ordinal: 1,
      frame: rootFrame,
      step: 1,
      call,
      text: '"half"'
    }
    assert.include(read([caughtUp, output], false).frames, '"output":"half"')
    assert.notInclude(read([caughtUp, output], true).frames, "half")
  })

  for (const isCustomer of [false, true]) {
    it(`is the same live, resumed and read again, for ${isCustomer ? "a customer" : "staff"}`, async () => {
      let answers = 0
      for (let seed = 0; seed < either(400, 4_000); seed++) {
        try {
          answers += await followed(seed, isCustomer)
        } catch (error) {
          throw new Error(`seed ${seed}`, { cause: error })
        }
      }
      assert.isAbove(answers, 10)
    })
  }
})
