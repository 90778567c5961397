/**
 * Takes what a model gateway gives for a turn: a gateway may be anybody's, and what the journal could not say and read back never
 * gets there.
 */
import { Result, Schema } from "effect"
import { copyJson } from "../../../src/Canonical.ts"
import { bounds_default, isWithinBounds } from "../../../src/entry/BoundedJson.ts"
import { rootFrame } from "../../../src/Ids.ts"
import { FinishReason } from "../../../src/run/FinishReason.ts"
import type { Turn } from "../../../src/run/RunDecider.ts"
import type { ProposedCall } from "../../../src/run/RunEvent.ts"
import { RunEvent } from "../../../src/run/RunEvent.ts"

type Given = Omit<Turn, "generated">

const encoder = new TextEncoder()

/** Calls of one turn. Each has a result of its own, which is written with the turn where it never runs. */
export const turn_calls_max = 10_000
/** A turn as JSON in UTF-8. PostgreSQL's client reads no row of more than 16 MiB: one that was written would stop its conversation. */
export const turn_bytes_max = 4 * 2 ** 20
/** What a UTF-16 unit takes in JSON at most, in bytes: a control character is six. */
const unit_bytes_max = 6

const finishes: ReadonlySet<unknown> = new Set(FinishReason.literals)
const checked: ReadonlySet<string> = new Set(["text", "calls", "finish", "usage"])

/** The turn, with calls that the gateway cannot change any more; or a text: why it is none. */
export const ownTurn = (given: Given): Given | string => {
  if (!isTurn(given)) return "the gateway gave no turn"
  if (given.calls.length > turn_calls_max) {
    return `the gateway gave a turn of more than ${turn_calls_max} calls`
  }
  const calls = given.calls.map((call) => ownCall(call))
  const own = hasOthers(given) ? decoded(given, calls) : { ...given, calls }
  if (own === undefined) return "the gateway gave no turn"
  return unitsOf(own) * unit_bytes_max > turn_bytes_max &&
    encoder.encode(JSON.stringify(own)).length > turn_bytes_max
    ? `the gateway gave a turn of more than ${turn_bytes_max} bytes`
    : own
}

/** Most turns have no members but these, and are not decoded (bench row `step`). */
const hasOthers = (given: Given): boolean => {
  for (const name in given) if (!checked.has(name)) return true
  return false
}

/** UTF-16 units of the texts and names in it, and a few for each other value. */
const unitsOf = (value: unknown): number => {
  if (typeof value === "string") return value.length
  if (typeof value !== "object" || value === null) return 4
  let units = 0
  for (const name in value) {
    units += name.length + unitsOf((value as Readonly<Record<string, unknown>>)[name])
  }
  return units
}

const isTurn = ({ calls, finish, text, usage }: Given): boolean =>
  typeof text === "string" &&
  finishes.has(finish) &&
  Array.isArray(calls) &&
  calls.every(({ model_id, name }) => typeof model_id === "string" && typeof name === "string") &&
  (usage === undefined || Object.values(usage).every(Number.isSafeInteger))

const readEvent = Schema.decodeUnknownResult(RunEvent)

/** The members that the event of a turn has, where they are what it says. A member that is undefined counts as absent. */
const decoded = (given: Given, calls: Given["calls"]): Given | undefined => {
  const said = Object.entries(given).filter(([, value]) => value !== undefined)
  const read = readEvent({
    ...Object.fromEntries(said),
    _tag: "ModelTurned",
    frame: rootFrame,
    step: 1,
    calls
  })
  if (Result.isFailure(read) || read.success._tag !== "ModelTurned") return undefined
  const { _tag, frame: _frame, step: _step, ...turn } = read.success
  return turn
}

/** What a person approves is what runs, so the arguments are copied. */
const ownCall = (call: ProposedCall): ProposedCall =>
  isWithinBounds(call.arguments, bounds_default, true)
    ? { ...call, arguments: copyJson(call.arguments) }
    : { ...call, arguments: null, malformed: call.malformed ?? beyond_bounds }

/** In the place of the text that was no JSON, for the model. */
const beyond_bounds = `they nest deeper than ${bounds_default.depth_max}, hold more than ${bounds_default.values_max} values, or a value that JSON cannot say`
