/**
 * Runs at random, cut anywhere: what the reducer of A2A's own SDK makes of the frames, each of which is as the SDK writes it, is the same
 * live, resumed and read again from the journal.
 */
import type { StreamResponse as Frame, Task } from "@a2a-js/sdk"
import { StreamResponse, TaskState } from "@a2a-js/sdk"
import { InMemoryTaskStore, ResultManager, ServerCallContext } from "@a2a-js/sdk/server"
import { assert, describe, it } from "vitest"
import { streamTexts } from "../../layers/http/wires/A2aTexts.ts"
import type { Shown } from "../../layers/http/wires/WireStream.ts"
import { WireReader } from "../../layers/http/wires/WireStream.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { ApprovalId, callId, rootFrame, RunId } from "../../src/value/Ids.ts"
import { A2aTask } from "../../src/wire/A2aTasks.ts"
import type { RunStep } from "../../src/wire/RunView.ts"
import * as Samples from "../contracts/Samples.ts"
import { either } from "../Long.ts"
import { run } from "../run/Interleaving.ts"
import { caughtUp, conversation, eventItem, eventsIn, watched } from "./RandomRuns.ts"

const task = { id: run, conversation, message: "Hello", created_at: 0 } as AgentTask

const read = (
  items: ReadonlyArray<FeedItem>,
  isCustomer: boolean,
  through: NonNullable<Shown["through"]> = "waits"
) => {
  const by = Samples.principal(isCustomer ? ["customer"] : ["operator"])
  const made = new A2aTask({ task, hasHistory: false, fileAt: (digest) => `/files/${digest}` })
  const shown = { run, conversation, ordinal: 1, through }
  const reader = new WireReader(streamTexts(1, made), by, shown)
  let text = ""
  let taken = 0
  for (const item of items) {
    text += reader.textOf(item)
    taken++
    if (reader.isOver) break
  }
  return { frames: framesOf(text), isOver: reader.isOver, taken }
}

/** The frames of a stream, each as the SDK reads and writes it. */
const framesOf = (text: string): ReadonlyArray<Frame> =>
  text
    .split("\n\n")
    .filter((each) => each !== "")
    .map((each) => {
      const { result } = JSON.parse(each.slice("data: ".length))
      const frame = StreamResponse.fromJSON(result)
      assert.deepStrictEqual(StreamResponse.toJSON(frame), result)
      return frame
    })

/** What a client has of it. */
const reduced = async (frames: ReadonlyArray<Frame>): Promise<Task | undefined> => {
  const manager = new ResultManager(new InMemoryTaskStore(), new ServerCallContext())
  for (const { payload } of frames) {
    if (payload !== undefined) {
      await manager.processEvent({ kind: payload.$case, data: payload.value } as never)
    }
  }
  return manager.getCurrentTask()
}

/** Without the messages that went by, and with the pieces of a text as one. A text that is empty is none. */
const counted = (given: Task | undefined): unknown => {
  assert.isDefined(given)
  const { history: _history, artifacts, ...rest } = given!
  const answers = artifacts.flatMap(({ parts, ...artifact }) => {
    const isText = parts.every(({ content }) => content?.$case === "text")
    const text = parts.map(({ content }) => content?.value).join("")
    return isText && text === "" ? [] : [{ ...artifact, parts: isText ? text : parts }]
  })
  return { ...rest, answers }
}

const followed = async (seed: number, isCustomer: boolean) => {
  const { events, live, random } = watched(seed, isCustomer)
  const whole = async (length: number) => {
    const { frames } = read([...events.slice(0, length).map(eventItem), caughtUp], isCustomer)
    // All of it is one frame: the task as it is.
    assert.lengthOf(frames, 1)
    return counted(await reduced(frames))
  }
  const first = read([caughtUp, ...live], isCustomer)
  if (first.isOver) {
    const length = eventsIn(live, first.taken - 1)
    assert.deepStrictEqual(counted(await reduced(first.frames)), await whole(length))
  }
  // Who subscribes is told on through each question.
  const through = read([caughtUp, ...live], isCustomer, "all")
  const end = await whole(events.length)
  assert.deepStrictEqual(counted(await reduced(through.frames)), end)
  // One that lost its connection comes back, with what it had been told.
  const cut = Math.floor(random() * live.length)
  const seen = live.slice(0, cut).filter(({ _tag }) => _tag === "Event")
  const resumed = read([...seen, caughtUp, ...live.slice(cut)], isCustomer, "all")
  const told = through.frames.slice(0, Math.floor(random() * through.frames.length))
  assert.deepStrictEqual(counted(await reduced(resumed.frames)), end)
  assert.deepStrictEqual(counted(await reduced([...told, ...resumed.frames])), end)
  return { waits: first.isOver && !through.isOver, ends: through.isOver }
}

const root = { frame: rootFrame, step: 1 }

/** The kinds of frames of these steps, and the task. */
const stepped = (steps: ReadonlyArray<RunStep>) => {
  const made = new A2aTask({ task, hasHistory: false, fileAt: String })
  const frames = steps.flatMap((step, seq) =>
    made.next(step, step._tag === "Parked" ? { seq, at: seq } : { seq: 9, at: 9 })
  )
  return { kinds: frames.flatMap((frame) => Object.keys(frame)), task: made.task }
}

describe("a run as a task of A2A", () => {
  it("keeps what was said in its last turn where it fails, and takes back what did not end", () => {
    const first: ReadonlyArray<RunStep> = [
      { _tag: "TurnBegun", ...root },
      { _tag: "Text", ...root, text: "One moment." },
      { _tag: "TurnEnded", ...root }
    ]
    const half: ReadonlyArray<RunStep> = [
      { _tag: "TurnBegun", ...root, step: 2 },
      { _tag: "Text", ...root, step: 2, text: "Half of" }
    ]
    const failed: RunStep = { _tag: "Ended", status: "failed", reason: "r", text: "", unsaid: "" }
    const kept = stepped([...first, failed])
    assert.deepStrictEqual(kept.kinds, ["artifactUpdate", "statusUpdate"])
    const back = stepped([...first, ...half, failed])
    assert.deepStrictEqual(back.kinds, [
      ...Array.from({ length: 3 }, () => "artifactUpdate"),
      "statusUpdate"
    ])
    assert.deepStrictEqual(back.task, kept.task)
    assert.deepNestedInclude(kept.task, {
      "artifacts[0].parts": [{ text: "One moment." }],
      "status.message.parts": [{ text: "r" }]
    })
  })

  it("tells a question once, though events happen while it is open", () => {
    const approval = ApprovalId.make(crypto.randomUUID())
    const parked: RunStep = { _tag: "Parked", questions: [{ approval }] }
    const once = stepped([parked])
    const twice = stepped([parked, parked])
    assert.deepStrictEqual(twice, once)
    const other: RunStep = { _tag: "Parked", questions: [{ call: callId(rootFrame, 1, 0) }] }
    assert.lengthOf(stepped([parked, other]).kinds, 2)
  })

  it("is begun by an event of its own alone", () => {
    const other = {
      ...eventItem(watched(0, false).events[0]!, 0),
      run: RunId.make(crypto.randomUUID())
    }
    const stateOf = (item: FeedItem) => {
      const [frame] = read([item as FeedItem, caughtUp], false).frames
      return frame?.payload?.$case === "task" && frame.payload.value.status?.state
    }
    assert.strictEqual(stateOf(other as FeedItem), TaskState.TASK_STATE_SUBMITTED)
    assert.strictEqual(stateOf({ ...other, run } as FeedItem), TaskState.TASK_STATE_WORKING)
  })

  it("works again with the first event that ends its wait", () => {
    const { events } = watched(312, false)
    const [accepted, claimed, turned, asked, after] = events
    const items = [accepted!, claimed!, turned!, asked!, claimed!, after!].map(eventItem)
    const told = read([caughtUp, ...items], false, "all").frames.flatMap(({ payload }) =>
      payload?.$case === "statusUpdate" ? [payload.value.status] : []
    )
    assert.deepStrictEqual(
      told.map((status) => [status?.state, Date.parse(status?.timestamp ?? "")]),
      [
        [TaskState.TASK_STATE_WORKING, 0],
        [TaskState.TASK_STATE_INPUT_REQUIRED, 3],
        [TaskState.TASK_STATE_WORKING, 5]
      ]
    )
  })

  for (const isCustomer of [false, true]) {
    it(`is the same live, resumed and read again, for ${isCustomer ? "a customer" : "staff"}`, async () => {
      const seen = { waits: 0, ends: 0 }
      // The first two have a turn that says nothing behind one that did, and a turn that begins behind a wait.
      for (const seed of [306, 312, ...Array(either(150, 2_000)).keys()]) {
        try {
          const { ends, waits } = await followed(seed, isCustomer)
          seen.ends += Number(ends)
          seen.waits += Number(waits)
        } catch (error) {
          throw new Error(`seed ${seed}`, { cause: error })
        }
      }
      assert.isAbove(seen.ends, 10)
      assert.isAbove(seen.waits, 3)
    })
  }
})
