/** Why a call was proposed: from the words of whoever began the run down to the proposal, read from the run's events. */
import { cutText } from "../../src/value/CutText.ts"
import type { CallId, FrameId } from "../../src/value/Ids.ts"
import { callId } from "../../src/value/Ids.ts"
import type { JournalEntry, RunEvent } from "../../src/run/RunEvent.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"

/** The longest quotation in UTF-16 units; the run's page has the whole. */
const quoted_max = 400

type Opened = Extract<RunEvent, { readonly _tag: "FrameOpened" }>

const quiet = (text: string) => element("span", { class: "quiet" }, ` ${text} `)
const named = (text: string) => element("b", {}, text)
const quoted = (text: string) => `“${cutText(text.trim(), quoted_max)}”`

/** The frame whose turn proposed the call. */
const frameOfCall = (call: CallId): FrameId =>
  call.slice(0, Math.max(0, call.lastIndexOf("/"))) as FrameId

/** The frames from the run's own agent down to this one. */
const wayTo = (events: ReadonlyArray<RunEvent>, frame: FrameId): ReadonlyArray<Opened> => {
  const opened = events.find(
    (event): event is Opened => event._tag === "FrameOpened" && event.frame === frame
  )
  return opened === undefined ? [] : [...wayTo(events, frameOfCall(opened.call)), opened]
}

/** The names of the tools whose results the frame's agent had read. */
const readBy = (events: ReadonlyArray<RunEvent>, frame: FrameId): ReadonlyArray<string> => {
  const settled = new Set(
    events.flatMap((event) =>
      event._tag === "CallSettled" && event.outcome._tag === "Value" ? [event.call] : []
    )
  )
  const names = events.flatMap((event) =>
    event._tag === "ModelTurned" && event.frame === frame
      ? event.calls.flatMap(({ name }, place) =>
          settled.has(callId(frame, event.step, place)) ? [name] : []
        )
      : []
  )
  return [...new Set(names)]
}

/** The steps to a call, one line each. `events`: those of the run before and with the question. */
export const causalChain = (
  entries: ReadonlyArray<Pick<JournalEntry, "event">>,
  { agent, call, tool }: { readonly agent: string; readonly call: CallId; readonly tool: string }
): Html => {
  const events = entries.map(({ event }) => event)
  const accepted = events.find((event) => event._tag === "RunAccepted")
  const steps: Array<Child> = []
  if (accepted !== undefined) {
    const { by, message, via } = accepted
    steps.push([
      named(by),
      via === undefined ? false : quiet(`(through ${via})`),
      quiet("wrote:"),
      quoted(message)
    ])
  }
  let asking: string = accepted?.agent ?? accepted?.address.agent ?? agent
  const frame = frameOfCall(call)
  for (const opened of wayTo(events, frame)) {
    steps.push([
      named(asking),
      quiet("asked"),
      named(opened.agent),
      quiet("to"),
      quoted(opened.input)
    ])
    asking = opened.agent
  }
  const read = readBy(events, frame)
  if (read.length > 0) steps.push([named(agent), quiet("read"), read.join(", ")])
  steps.push([named(agent), quiet("proposes"), named(tool)])
  return element(
    "ol",
    { class: "chain" },
    steps.map((step) => element("li", {}, element("span", {}, step)))
  )
}
