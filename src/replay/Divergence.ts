/**
 * The first difference between a replay and its recording. Compared are the turns of the models, the results of their calls, the
 * questions and decisions, and how the runs ended; not times, ids of questions, owners and the order of parallel work.
 */
import type { Json } from "../value/Canonical.ts"
import type { RunEvent, CallSettled, JournalEntry } from "../run/RunEvent.ts"
import { isSameJson } from "../value/Canonical.ts"
import { defined } from "../value/PlainObject.ts"

export interface Divergence {
  /** The `seq` of the recorded event; undefined if the replay did something that is not in the recording. */
  readonly seq: number | undefined
  /** The step as `frame/step`; undefined if the event belongs to no step. */
  readonly step: string | undefined
  readonly call: string | undefined
  /** A sentence that describes the difference. */
  readonly what: string
  /** What was recorded; null = nothing. */
  readonly expected: Json
  /** What the replay has instead; null = nothing. */
  readonly got: Json
}

interface EventPosition {
  readonly step: string | undefined
  readonly call: string | undefined
}

/** The step of a call, `0/3` of `0/3.1`. */
export const stepOfCall = (call: string): string | undefined => /^(.*\/\d+)\.\d+$/.exec(call)?.[1]

/** Where in a run an event belongs. */
export const positionOf = (event: RunEvent): EventPosition => {
  if (event._tag === "ModelTurned" || event._tag === "Compacted" || event._tag === "Guarded") {
    return { step: `${event.frame}/${event.step}`, call: undefined }
  }
  return "call" in event
    ? { step: stepOfCall(event.call), call: event.call }
    : { step: undefined, call: undefined }
}

/** Something that a run did. It is compared with what the other run did under the same key. */
export interface Deed {
  readonly key: string
  readonly what: string
  readonly value: Json
  readonly seq: number
  readonly event: RunEvent
}

type Keyed = readonly [key: string, what: string, value: unknown]

const resultOf = ({ files, outcome }: CallSettled) =>
  files === undefined ? { outcome } : { outcome, files }

/** The part of an event that is compared, and its key; undefined for an event that is not compared. */
const keyedOf = (event: RunEvent, nth: (key: string) => number): Keyed | undefined => {
  switch (event._tag) {
    case "ModelTurned": {
      const calls = event.calls.map(({ arguments: args, malformed, name }) =>
        malformed === undefined ? { name, arguments: args } : { name, malformed }
      )
      const key = `turn ${event.frame}/${event.step}`
      const { given, text } = event
      return given === undefined
        ? [key, "the model said something else", { text, calls }]
        : [
            key,
            "the model said, or was given, something else",
            { text, calls, given: given.digest }
          ]
    }
    case "MemoryRecalled":
      return ["memory", "it was told something else of memory", { lines: event.lines }]
    case "Guarded": {
      const { call = "", frame, guard, on, reason, step, text, verdict } = event
      const key = `verdict ${frame}/${step} ${on} ${call} ${guard}`
      return [key, "a guard said something else", defined({ verdict, reason, text })]
    }
    case "FrameOpened": {
      const { agent, input } = event
      return [`frame ${event.call}`, "another specialist, or another task", { agent, input }]
    }
    case "HandedOff":
      return [`handoff ${event.call}`, "it was handed to another agent", { to: event.to }]
    case "ApprovalRequested": {
      const { arguments: args, tool_key } = event
      const key = `question ${event.call}`
      return [`${key} ${nth(key)}`, "another question", { tool_key, arguments: args }]
    }
    case "ApprovalDecided": {
      const key = `decision ${event.call}`
      return [`${key} ${nth(key)}`, "another decision", { decision: event.decision, by: event.by }]
    }
    case "CallSettled":
      return [`result ${event.call}`, "the call has another result", resultOf(event)]
    case "RunStopping": {
      const { by, reason, status } = event
      return ["stop", "the run stopped in another way", { status, reason, by }]
    }
    case "RunEnded": {
      const { reason, status, text } = event
      return ["end", "the run ended in another way", { status, reason, text }]
    }
    default:
      return undefined
  }
}

/** What a run did, by keys that the same deed of another run has too, in order. */
export const deedsOf = (entries: ReadonlyArray<JournalEntry>): ReadonlyMap<string, Deed> => {
  const deeds = new Map<string, Deed>()
  const counts = new Map<string, number>()
  const nth = (key: string): number => {
    const n = (counts.get(key) ?? 0) + 1
    counts.set(key, n)
    return n
  }
  for (const { event, seq } of entries) {
    const keyed = keyedOf(event, nth)
    if (keyed === undefined || deeds.has(keyed[0])) continue
    const [key, what, value] = keyed
    deeds.set(key, { key, what, value: value as Json, seq, event })
  }
  return deeds
}

/**
 * The first deed of `of` that is not in `other`, or (unless `absent`) has another value there; and how many deeds come before it.
 */
const firstOdd = (
  of: ReadonlyMap<string, Deed>,
  other: ReadonlyMap<string, Deed>,
  absent: boolean
): { readonly deed: Deed; readonly before: number } | undefined => {
  let before = 0
  for (const deed of of.values()) {
    const twin = other.get(deed.key)
    if (twin === undefined || (!absent && !isSameJson(twin.value, deed.value))) {
      return { deed, before }
    }
    before++
  }
  return undefined
}

/** The first difference; undefined if there is none. */
export const firstDifference = (
  recorded: ReadonlyArray<JournalEntry>,
  replayed: ReadonlyArray<JournalEntry>
): Divergence | undefined => {
  const expected = deedsOf(recorded)
  const got = deedsOf(replayed)
  const odd = firstOdd(expected, got, false)
  // If the replay did something extra, that explains what is missing after it.
  const extra = firstOdd(got, expected, true)
  if (extra !== undefined && (odd === undefined || extra.before <= odd.before)) {
    const { event, value } = extra.deed
    const what = `the recording has no ${extra.deed.key.replace(/ \d+$/, "")}`
    return { seq: undefined, ...positionOf(event), what, expected: null, got: value }
  }
  if (odd === undefined) return undefined
  const { event, key, seq, value, what } = odd.deed
  const twin = got.get(key)
  return {
    seq,
    ...positionOf(event),
    what: twin === undefined ? `the replay has no ${key.replace(/ \d+$/, "")}` : what,
    expected: value,
    got: twin?.value ?? null
  }
}
