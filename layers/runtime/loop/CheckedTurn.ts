/**
 * Checks and copies what a model gateway gives for a turn. A gateway may be anybody's code, so nothing that the journal could
 * not read back gets there.
 */
import { Predicate, Result, Schema } from "effect"
import { turn_bytes_max } from "../../../services/ModelGateway.ts"
import type { CopyBudget } from "../../../src/value/BoundedJson.ts"
import { bounds_default, copyWithin, readJsonValue } from "../../../src/value/BoundedJson.ts"
import type { FrameId } from "../../../src/value/Ids.ts"
import { FinishReason } from "../../../src/run/ProviderWork.ts"
import type { Turn } from "../../../src/run/RunDecider.ts"
import type { ModelTurned, ProposedCall } from "../../../src/run/RunEvent.ts"
import { RunEvent } from "../../../src/run/RunEvent.ts"
import { appended } from "../../../src/value/ShortList.ts"
import { isBeyondBytes } from "../../../src/value/CutText.ts"

type GatewayTurn = Omit<Turn, "generated">

/** Calls of one turn. Each has a result of its own, which is written with the turn where it never runs. */
export const turn_calls_max = 10_000
/** What a UTF-16 unit takes in JSON at most, in bytes: a control character is six. */
const unit_bytes_max = 6

const finishes: ReadonlySet<unknown> = new Set(FinishReason.literals)
const no_turn = "the gateway gave no turn, or one with a member of another type"

/** The turn's event, with calls that the gateway cannot change any more; or, as a text, why there is none. */
export const checkedTurn = (
  given: GatewayTurn,
  frame: FrameId,
  step: number
): ModelTurned | string => {
  if (!Predicate.isObject(given) || !isTurn(given)) return no_turn
  if (given.calls.length > turn_calls_max) {
    return `the gateway gave a turn of more than ${turn_calls_max} calls`
  }
  const budget: CopyBudget = { values: 0, units: given.text.length }
  // Loops, because the closures of `map` and `every` would be allocated for each turn (bench row `step`).
  let calls: Array<ProposedCall> = []
  for (const call of given.calls) calls = appended(calls, copiedCall(call, budget))
  // What a model wrote cannot be refused, and half of a surrogate pair in it would fail its readers.
  const text = given.text.toWellFormed()
  if (!isPlain(given)) return decoded(given, { _tag: "ModelTurned", frame, step, text, calls })
  const { finish, usage } = given
  // Literals without a spread, whose members are all in the object itself (bench row `step`).
  const turned: ModelTurned =
    usage === undefined
      ? { _tag: "ModelTurned", frame, step, text, calls, finish }
      : { _tag: "ModelTurned", frame, step, text, calls, finish, usage }
  return isTooLarge(turned, budget.units) ? too_large : turned
}

/** Most turns have no members but these, and are not decoded (bench row `step`). */
const isPlain = (given: GatewayTurn): boolean => {
  for (const name in given) {
    const isKnown = name === "text" || name === "calls" || name === "finish" || name === "usage"
    if (!isKnown) return false
  }
  return !("usage" in given) || given.usage !== undefined
}

const too_large = `the gateway gave a turn of more than ${turn_bytes_max} bytes`

/** `units`: those of its texts. Names of members are not counted: they have less than the other half. Most turns are not encoded. */
const isTooLarge = (turned: ModelTurned, units: number): boolean =>
  units * unit_bytes_max > turn_bytes_max / 2 &&
  isBeyondBytes(JSON.stringify(turned), turn_bytes_max)

const isTurn = ({ calls, finish, text, usage }: GatewayTurn): boolean => {
  if (typeof text !== "string" || !Array.isArray(calls)) return false
  if (finish !== "tool_calls" && !finishes.has(finish)) return false
  for (const { model_id, name } of calls as GatewayTurn["calls"]) {
    if (typeof model_id !== "string" || typeof name !== "string") return false
  }
  return usage === undefined || isUsage(usage)
}

const isUsage = ({ estimated, ...counts }: NonNullable<GatewayTurn["usage"]>): boolean =>
  (estimated === undefined || estimated === true) &&
  Object.values(counts).every(Number.isSafeInteger)

const readEvent = Schema.decodeUnknownResult(RunEvent)

/** The members that the event has, where they are what it says. A member that is undefined counts as absent. */
const decoded = (
  given: GatewayTurn,
  own: Pick<ModelTurned, "_tag" | "frame" | "step" | "text" | "calls">
): ModelTurned | string => {
  const said = Object.entries(given).filter(([, value]) => value !== undefined)
  const read = readEvent({ ...Object.fromEntries(said), ...own })
  if (Result.isFailure(read) || read.success._tag !== "ModelTurned") return no_turn
  return isTooLarge(read.success, Infinity) ? too_large : read.success
}

/** What a person approves is what runs, so the arguments are copied. */
const copiedCall = (call: ProposedCall, budget: CopyBudget): ProposedCall => {
  const { malformed, model_id, name } = call
  budget.values = bounds_default.values_max
  budget.units += name.length + model_id.length + (malformed === undefined ? 0 : malformed.length)
  const args = copyWithin(call.arguments, bounds_default.depth_max, budget)
  return args === undefined
    ? { ...call, arguments: null, malformed: malformed ?? whyRefused(call.arguments) }
    : { ...call, arguments: args }
}

/** Why the arguments are not taken, in the place of the text that was no JSON, for the model. */
const whyRefused = (args: unknown): string => {
  const read = readJsonValue(args, bounds_default)
  return Result.isFailure(read) ? read.failure.message : beyond_bounds
}

const beyond_bounds = `they nest deeper than ${bounds_default.depth_max}, hold more than ${bounds_default.values_max} values, or a value that JSON cannot say`
