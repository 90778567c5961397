/**
 * Runs at random, cut anywhere: what AG-UI's own client makes of the events, behind its checks of each one and of their order, is the same
 * live, resumed and read again from the journal.
 */
import { HttpAgent } from "@ag-ui/client"
import type { Message } from "@ag-ui/client"
import { EventSchemas } from "@ag-ui/core/schemas"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { WireReader } from "../../layers/http/wires/WireStream.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { AgentName, ApprovalId, callId, frameOpenedBy, rootFrame } from "../../src/value/Ids.ts"
import { AgUiFrames } from "../../src/wire/AgUiFrames.ts"
import { knownIn } from "../../src/wire/AgUiRequest.ts"
import { agUiText } from "../../src/wire/AgUiShapes.ts"
import type { RunStep, TurnAt } from "../../src/wire/RunView.ts"
import * as Samples from "../contracts/Samples.ts"
import { either } from "../Long.ts"
import { run } from "../run/Interleaving.ts"
import { caughtUp, conversation, eventItem, eventsIn, watched } from "./RandomRuns.ts"

const said: Message = { id: "said", role: "user", content: "Hello" }

/** What the client complains of, such as members that the protocol does not know. */
const complaints: Array<unknown> = []
const { warn } = console
beforeAll(() => {
  console.warn = (...what) => complaints.push(what)
})
afterAll(() => {
  console.warn = warn
})

const framesFor = (before: ReadonlyArray<Message>, isWhole: boolean) =>
  new AgUiFrames({
    thread: "t-1",
    client_run: "r-1",
    run,
    conversation,
    isVersionOne: true,
    ignored: [],
    before,
    known: knownIn(before, run),
    isWhole,
    fileAt: (digest) => `/files/${digest}`
  })

const read = (
  items: ReadonlyArray<FeedItem>,
  isCustomer: boolean,
  before: ReadonlyArray<Message> = [said],
  answered: ReadonlyArray<ApprovalId> = []
) => {
  const by = Samples.principal(isCustomer ? ["customer"] : ["operator"])
  const made = framesFor(before, answered.length === 0)
  const texts = {
    start: made.start.map(agUiText).join(""),
    next: (step: Parameters<AgUiFrames["next"]>[0], { cursor }: { readonly cursor: string }) =>
      made.next(step, cursor).map(agUiText).join(""),
    failed: () => "",
    end: () => "",
    begin: () => made.begin()
  }
  const shown = { run, conversation, ordinal: 1, answered }
  const reader = new WireReader(texts, by, shown)
  let frames = texts.start
  let taken = 0
  for (const item of items) {
    frames += reader.textOf(item)
    taken++
    if (reader.isOver) break
  }
  return { frames, before, isOver: reader.isOver, taken }
}

/** What the client has of it, after what it had before. */
const reduced = async ({
  before,
  frames
}: Pick<ReturnType<typeof read>, "before" | "frames">): Promise<Array<Message>> => {
  for (const frame of frames.split("\n\n")) {
    if (frame !== "") EventSchemas.parse(JSON.parse(frame.slice("data: ".length)))
  }
  const agent = new HttpAgent({
    url: "http://localhost/",
    threadId: "t-1",
    initialMessages: structuredClone(before) as Array<Message>,
    fetch: () =>
      Promise.resolve(new Response(frames, { headers: { "content-type": "text/event-stream" } }))
  })
  await agent.runAgent({ runId: "r-1" })
  return agent.messages
}

const isVoid = ({ metadata }: Message): boolean =>
  (metadata?.["troupe"] as { readonly void?: boolean } | undefined)?.void === true

/** Without what was told of attempts that do not count, whose numbers are in the ids of those that do. */
const counted = (messages: ReadonlyArray<Message>): unknown =>
  JSON.parse(JSON.stringify(messages.filter((message) => !isVoid(message))).replaceAll(/~\d+/g, ""))

const followed = async (seed: number, isCustomer: boolean): Promise<number> => {
  const { events, live, mayAnswer, random } = watched(seed, isCustomer)
  const whole = async (length: number) =>
    counted(await reduced(read([...events.slice(0, length).map(eventItem), caughtUp], isCustomer)))
  const first = read([caughtUp, ...live], isCustomer)
  let messages = await reduced(first)
  let length = eventsIn(live, first.taken - 1)
  if (!first.isOver) return 0
  // Somebody who comes back reads the journal from the first event, and goes on live within a turn or behind it.
  const cut = Math.floor(random() * (first.taken - 1))
  const seen = live.slice(0, cut).filter(({ _tag }) => _tag === "Event")
  const resumed = await reduced(read([...seen, caughtUp, ...live.slice(cut)], isCustomer))
  assert.deepStrictEqual(counted(resumed), await whole(length))
  // A client that lost its connection asks again, with what it was told.
  const told = first.frames.split("\n\n")
  const part = told.slice(0, 1 + Math.floor(random() * (told.length - 1))).join("\n\n")
  const lost = await reduced({ ...first, frames: part })
  const retold = read([...events.slice(0, length).map(eventItem), caughtUp], isCustomer, lost)
  assert.deepStrictEqual(counted(await reduced(retold)), await whole(length))
  let answers = 0
  for (;;) {
    assert.deepStrictEqual(counted(messages), await whole(length))
    const next = events[length]
    if (next?._tag !== "ApprovalDecided" || !mayAnswer(next.approval)) return answers
    answers++
    // The client answers, and is told what it does not have.
    const at = live.findIndex((item) => item._tag === "Event" && item.entry.seq === length)
    const known = live.slice(0, at + 1).filter(({ _tag }) => _tag === "Event")
    const more = [...known, caughtUp, ...live.slice(at + 1)]
    const on = read(more, isCustomer, messages, [next.approval])
    if (!on.isOver) return answers
    messages = await reduced(on)
    length = eventsIn(more, on.taken)
  }
}

/** What a client has after these steps, of which it had those of `shown` before. */
const stepped = (
  steps: ReadonlyArray<RunStep>,
  before: ReadonlyArray<Message> = [said],
  shown: ReadonlyArray<RunStep> = []
) => {
  const made = framesFor(before, shown.length === 0)
  for (const step of shown) made.next(step, "")
  made.begin()
  const frames = [...made.start, ...steps.flatMap((step) => made.next(step, ""))]
  return { types: frames.map(({ type }) => type), before, frames: frames.map(agUiText).join("") }
}

const asks = (at: TurnAt, index: number): ReadonlyArray<RunStep> => {
  const call = callId(at.frame, at.step, index)
  const approval = ApprovalId.make(crypto.randomUUID())
  const payload = {
    tool_name: "refund",
    agent_name: AgentName.make("clerk"),
    args_summary: "",
    effect_description: "Pays back.",
    correlation_id: approval
  }
  return [
    { _tag: "CallProposed", ...at, call, tool: "refund", arguments: {} },
    { _tag: "TurnEnded", ...at },
    { _tag: "Asked", approval, call, payload },
    { _tag: "Parked", questions: [{ call, approval }] }
  ]
}
const paid = (at: TurnAt): RunStep => ({
  _tag: "CallEnded",
  call: callId(at.frame, at.step, 0),
  outcome: { _tag: "Value", json: "1" }
})

describe("a run as events of AG-UI", () => {
  it("keeps the order of what it is told in several answers, though a turn was begun anew", async () => {
    const [first, second] = [1, 2].map((step) => ({ frame: rootFrame, step })) as [TurnAt, TurnAt]
    const turn = (at: TurnAt, ...before: ReadonlyArray<RunStep>): ReadonlyArray<RunStep> => [
      { _tag: "TurnBegun", ...at },
      ...before,
      { _tag: "Text", ...at, text: `turn ${at.step}` },
      ...asks(at, 0)
    ]
    const lost: ReadonlyArray<RunStep> = [
      { _tag: "Text", ...first, text: "lost" },
      { _tag: "TurnRestarted", ...first }
    ]
    const one = await reduced(stepped(turn(first, ...lost)))
    const two = await reduced(stepped([paid(first), ...turn(second)], one, turn(first)))
    assert.deepStrictEqual(
      two.map(({ content }) => content),
      ["Hello", "turn 1", "1", "turn 2"]
    )
  })

  it("suspends a specialist that asks, and begins it again with the answer", async () => {
    const root = { frame: rootFrame, step: 1 }
    const call = callId(rootFrame, 1, 0)
    const frame = frameOpenedBy(call)
    const within = { frame, step: 1 }
    const asking: ReadonlyArray<RunStep> = [
      { _tag: "TurnBegun", ...root },
      { _tag: "CallProposed", ...root, call, tool: "ask_expert", arguments: {} },
      { _tag: "TurnEnded", ...root },
      { _tag: "SpecialistBegun", frame, call, agent: AgentName.make("expert") },
      { _tag: "TurnBegun", ...within },
      ...asks(within, 0)
    ]
    const first = stepped(asking)
    const one = await reduced(first)
    assert.include(first.frames, '"outcome":{"type":"suspended","interruptIds":["')
    const ended: ReadonlyArray<RunStep> = [
      paid(within),
      paid(root),
      { _tag: "Ended", status: "complete", reason: "", text: "", unsaid: "" }
    ]
    const rest = stepped(ended, one, asking)
    assert.deepStrictEqual(rest.types, [
      "RUN_STARTED",
      "SUBAGENT_STARTED",
      "TOOL_CALL_RESULT",
      "SUBAGENT_FINISHED",
      "TOOL_CALL_RESULT",
      "RUN_FINISHED"
    ])
    assert.lengthOf(
      (await reduced(rest)).filter(({ role }) => role === "tool"),
      2
    )
  })

  for (const isCustomer of [false, true]) {
    it(`is the same live, resumed and read again, for ${isCustomer ? "a customer" : "staff"}`, async () => {
      let answers = 0
      for (let seed = 0; seed < either(100, 2_000); seed++) {
        try {
          answers += await followed(seed, isCustomer)
        } catch (error) {
          throw new Error(`seed ${seed}`, { cause: error })
        }
      }
      assert.isAbove(answers, 3)
      assert.deepStrictEqual(complaints, [])
    })
  }
})
