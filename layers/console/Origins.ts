/**
 * Where the values of a question came from: each is looked for in what its run was told, in results of its calls and in what it
 * remembered. That it stands there is all that is known; a value that stands nowhere is said to.
 */
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import type { KnownEvents } from "./KnownEvents.ts"
import type { CallId } from "../../src/value/Ids.ts"
import { callId } from "../../src/value/Ids.ts"
import { memoised } from "../../src/value/Memoised.ts"
import { isPlainObject } from "../../src/value/PlainObject.ts"

/** A text of the run in which a value may stand. */
interface Told {
  /** What it is, for people. */
  readonly what: string
  /** The event that has it. */
  readonly seq: number
  readonly text: string
  /** A model wrote it. Absent = it came from elsewhere. */
  readonly isModels?: true
}

/** A value within the arguments, and the texts of the run that have it. */
export interface Origin {
  /** Where it stands in its argument, such as `.items.0.id`; empty for the whole of it. */
  readonly path: string
  /** The most telling first; empty = it stands in none. */
  readonly found: ReadonlyArray<Pick<Told, "seq" | "what">>
  /** Whether all of the run before the question was looked at. */
  readonly isWhole: boolean
}

/** A shorter value stands in too many texts to say anything, and a longer one takes too long to look for. */
const units_min = 3
const value_units_max = 1_000
/** What is looked at: of each text so many units, of all of them, and of an argument and of a question so many values. */
const text_units_max = 200_000
const units_max = 2_000_000
const argument_values_max = 50
const values_max = 200
const found_max = 3
/** A value that stands so often within longer words of a text is found there all the same. */
const within_max = 100

const told = (
  { event, seq }: JournalEntry,
  tools: ReadonlyMap<CallId, string>
): ReadonlyArray<Told> => {
  switch (event._tag) {
    case "RunAccepted": {
      const parts = (event.parts ?? []).flatMap((part) => ("text" in part ? [part.text] : []))
      const words = {
        what: `${event.by}'s message`,
        seq,
        text: [event.message, ...parts].join("\n")
      }
      return event.context === undefined
        ? [words]
        : [words, { what: "the run's context", seq, text: JSON.stringify(event.context) }]
    }
    case "MemoryRecalled":
      return event.lines.map(({ text }) => ({ what: "memory", seq, text }))
    case "FrameOpened":
      return [{ what: `what ${event.agent} was asked`, seq, text: event.input, isModels: true }]
    case "CallSettled":
      return event.outcome._tag === "Value"
        ? [
            {
              what: `a result of ${tools.get(event.call) ?? "a call"}`,
              seq,
              text: event.outcome.json
            }
          ]
        : []
    default:
      return []
  }
}

/** The numbers in a text, read when they are first asked for. */
const numbersOf = memoised(
  ({ text }: Told): ReadonlySet<number> =>
    new Set(Array.from(text.matchAll(/-?\d+(?:\.\d+)?/g), ([number]) => Number(number)))
)

/** Whether the event tells of the call, from its question on. */
const isOf = (call: CallId, { event }: JournalEntry): boolean =>
  "call" in event && event.call === call && event._tag !== "FrameOpened"

/** All texts of the run before the question, those that nobody but a model wrote last. */
const toldBefore = ({ entries, isWhole }: KnownEvents, call: CallId) => {
  const isKnown = entries.some((entry) => isOf(call, entry))
  const tools = new Map<CallId, string>()
  const all: Array<Told> = []
  let left = units_max
  let isCut = !isWhole
  let last = -1
  for (const entry of entries) {
    const { event } = entry
    if (event._tag === "ModelTurned") {
      event.calls.forEach(({ name }, place) =>
        tools.set(callId(event.frame, event.step, place), name)
      )
    }
    // Where the question is among those that are left out, what is behind them came after it.
    if (isOf(call, entry) || (!isKnown && entry.seq > last + 1)) break
    last = entry.seq
    for (const each of told(entry, tools)) {
      const text = each.text.slice(0, Math.min(left, text_units_max)).toLowerCase()
      isCut ||= text.length < each.text.length
      left -= text.length
      all.push({ ...each, text })
    }
  }
  const texts = [
    ...all.filter(({ isModels }) => isModels !== true),
    ...all.filter(({ isModels }) => isModels === true)
  ]
  return { texts, isCut }
}

const isWordPart = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}]/u.test(character)

/** Whether the text has the value as a word or words of its own, whatever its case. */
const hasWords = (text: string, value: string): boolean => {
  let within = 0
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const isWords = !isWordPart(text[at - 1]) && !isWordPart(text[at + value.length])
    if (isWords || ++within === within_max) return true
  }
  return false
}

const isIn = (value: string | number) => {
  const text = String(value).toLowerCase()
  const number = /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined
  // In JSON a text has its escapes.
  const quoted = JSON.stringify(text).slice(1, -1)
  return (of: Told): boolean =>
    hasWords(of.text, text) ||
    (quoted !== text && hasWords(of.text, quoted)) ||
    (number !== undefined && numbersOf(of).has(number))
}

const leavesOf = (
  value: unknown,
  path = ""
): ReadonlyArray<readonly [path: string, leaf: string | number]> => {
  if (typeof value === "string" || typeof value === "number") return [[path, value]]
  if (Array.isArray(value)) return value.flatMap((item, at) => leavesOf(item, `${path}.${at}`))
  return typeof value === "object" && value !== null && isPlainObject(value)
    ? Object.entries(value).flatMap(([name, member]) => leavesOf(member, `${path}.${name}`))
    : []
}

/** Gives the origins of the values of an argument, as far as they say something: of one argument after the other, up to the bound. */
export const originsIn = (events: KnownEvents, call: CallId) => {
  const { isCut, texts } = toldBefore(events, call)
  let left = values_max
  return (argument: unknown): ReadonlyArray<Origin> => {
    const leaves = leavesOf(argument)
      .filter(([, leaf]) => {
        const { length } = String(leaf)
        return length >= units_min && length <= value_units_max
      })
      .slice(0, Math.min(argument_values_max, left))
    left -= leaves.length
    return leaves.map(([path, leaf]) => ({
      path,
      found: texts.filter(isIn(leaf)).slice(0, found_max),
      isWhole: !isCut
    }))
  }
}
