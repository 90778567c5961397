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

/** Calls of one turn. Each has a result of its own, which is written with the turn where it never runs. */
export const turn_calls_max = 10_000

const finishes: ReadonlySet<unknown> = new Set(FinishReason.literals)
const checked: ReadonlySet<string> = new Set(["text", "calls", "finish", "usage"])

/** The turn, with calls that the gateway cannot change any more; undefined = it is none. */
export const ownTurn = (given: Given): Given | undefined => {
  if (!isTurn(given)) return undefined
  const calls = given.calls.map((call) => ownCall(call))
  // Most turns have no other members, and are not decoded (bench row `step`).
  for (const name in given) {
    if (!checked.has(name)) return decoded(given, calls)
  }
  return { ...given, calls }
}

const isTurn = ({ calls, finish, text, usage }: Given): boolean =>
  typeof text === "string" &&
  finishes.has(finish) &&
  Array.isArray(calls) &&
  calls.length <= turn_calls_max &&
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
