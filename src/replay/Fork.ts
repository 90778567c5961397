/** What a fork takes from the recording of the run that it is forked from. */
import type { GuardedPlace } from "../run/GuardVerdict.ts"
import type { CallSettled, JournalEntry, ModelTurned, RunEvent } from "../run/RunEvent.ts"
import type { FrameId } from "../value/Ids.ts"
import { rootFrame, stepKey } from "../value/Ids.ts"
import type { Recording } from "./Recording.ts"
import { recordingOf } from "./Recording.ts"

/** The turn that the event has, or asks people about. */
const turnIn = (event: RunEvent): ModelTurned | undefined =>
  event._tag === "ModelTurned"
    ? event
    : event._tag === "ApprovalRequested"
      ? event.guarded?.turned
      : undefined

/** Where the turns are, by their places, and the places that come next in their frames. */
const turnsOf = (entries: ReadonlyArray<JournalEntry>): ReadonlyMap<string, number> => {
  const found = new Map<string, number>()
  const end = entries.length
  const add = (frame: FrameId, step: number, index: number) => {
    const key = stepKey(frame, step)
    if ((found.get(key) ?? end) === end) found.set(key, index)
  }
  for (const [index, { event }] of entries.entries()) {
    const turned = turnIn(event)
    if (event._tag === "RunAccepted") add(rootFrame, 1, end)
    else if (event._tag === "FrameOpened") add(event.frame, 1, end)
    else if (turned !== undefined) {
      add(turned.frame, turned.step, index)
      add(turned.frame, turned.step + 1, end)
    }
  }
  return found
}

/** The places of turns from which a run can be forked: those that it has taken, and the next one of each frame. */
export const forkPlaces = ({ entries }: Recording): ReadonlyArray<string> => [
  ...turnsOf(entries).keys()
]

/** The recording up to the turn of this place; undefined = the run has no such turn. */
export const recordingBefore = (recording: Recording, step: string): Recording | undefined => {
  const end = turnsOf(recording.entries).get(step)
  const before = end === undefined ? undefined : recordingOf(recording.entries.slice(0, end))
  if (before === undefined) return undefined
  // What guards said of an answer stands before it.
  const guarded = before.guarded.filter(
    (event) => event.on !== "answer" || before.turns.has(stepKey(event.frame, event.step))
  )
  return { ...before, guarded }
}

/** The recording of what is the same where another message was sent: that one was. */
export const recordingOfMessage = ({ entries }: Recording): Recording | undefined =>
  recordingOf(entries.slice(0, 1))

/** A call's arguments and its end. */
export interface AnsweredCall {
  readonly name: string
  /** Those that the model gave, and those with which it ran, where a person replaced them. */
  readonly arguments: ReadonlyArray<unknown>
  readonly settled: CallSettled
}

/** Not what the gate refused: the fork has its own. */
const isAnswer = ({ by, outcome, started_at }: CallSettled): boolean =>
  outcome._tag === "Failed"
    ? started_at !== undefined || by !== undefined
    : outcome._tag !== "Cancelled" && outcome._tag !== "Unknown"

/** What tools, people and clients have answered to calls, in the order in which the model asked. */
export const answeredCalls = ({ calls, entries }: Recording): ReadonlyArray<AnsweredCall> => {
  const ends = new Map(
    entries.flatMap(({ event }) =>
      event._tag === "CallSettled" && isAnswer(event) ? [[event.call, event] as const] : []
    )
  )
  return calls.flatMap(({ arguments: ran, id, name, proposed }) => {
    const settled = ends.get(id)
    return settled === undefined ? [] : [{ name, settled, arguments: [proposed, ran] }]
  })
}

const isSamePlace = (a: GuardedPlace, b: GuardedPlace): boolean =>
  a.on === b.on && a.frame === b.frame && a.step === b.step && a.call === b.call

/** The recording with what a person said in place of a verdict that asked one. Where nobody said anything, the text is refused. */
export const withDecidedVerdicts = (recording: Recording): Recording => ({
  ...recording,
  guarded: recording.guarded.map((event) => {
    if (event.verdict !== "ask") return event
    const asked = recording.questions.find(
      ({ request: { guarded } }) => guarded !== undefined && isSamePlace(guarded, event)
    )
    const isPassed =
      asked?.answer?._tag === "ApprovalDecided" && asked.answer.decision._tag === "Approve"
    return { ...event, verdict: isPassed ? ("pass" as const) : ("refuse" as const) }
  })
})
