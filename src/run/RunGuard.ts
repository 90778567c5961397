/**
 * Detects a run without progress: the model's own mistakes, a call that fails again and again, two equal calls in one turn.
 */
import { isSameJson } from "../value/Canonical.ts"
import { truncateUnits } from "../value/CutText.ts"
import type { CallId } from "../value/Ids.ts"
import { sanitiseText } from "../tool/Sanitise.ts"
import { isCompleteFinish } from "./IncompleteTurn.ts"
import type { ModelTurned, Outcome } from "./RunEvent.ts"
import type { CallState, RunState } from "./RunState.ts"
import { callOf, frameOf } from "./RunState.ts"

/** Reasons of results that only the model can fix. */
const mistakes: ReadonlySet<string> = new Set([
  "MALFORMED_JSON",
  "INPUT_SCHEMA",
  "UNKNOWN_TOOL",
  "NOT_ALLOWED",
  "ROLE_DENIED",
  "DUPLICATE_CALL",
  "TURN_CUT"
])

export const isMistake = (outcome: Outcome): boolean =>
  outcome._tag === "Failed" &&
  outcome.error.reason !== undefined &&
  mistakes.has(outcome.error.reason)

/** A mistake in words for an operator, at most 300 UTF-16 units. */
export const mistakeOf = ({ proposed }: CallState, outcome: Outcome): string =>
  outcome._tag === "Failed"
    ? truncateUnits(
        `${outcome.error.reason ?? outcome.error.kind} of "${truncateUnits(proposed.name, 64)}": ${outcome.error.message}`,
        300
      )
    : ""

/**
 * Has the turn no text, no file and no call, or a call that the provider could not read? A turn that was cut, refused or filtered
 * does not count as empty: asked for again, it would end in the same way.
 */
export const isEmptyTurn = ({
  calls,
  files,
  finish,
  text,
  unreadable
}: Pick<ModelTurned, "text" | "calls" | "files" | "finish" | "unreadable">): boolean =>
  calls.length === 0 &&
  files === undefined &&
  (unreadable !== undefined ||
    (text.trim() === "" && (isCompleteFinish(finish) || finish === "other")))

/** In the transcript, in the place of an empty turn. */
export const empty_text =
  "[runtime] Your last turn was empty: it had neither text nor a call. Answer the user in words, or call a tool."

/** How much of an unreadable call goes back to the model, in UTF-16 units. */
const unreadable_shown_max = 2_000

/** In the transcript, in the place of an empty turn or an unreadable call. */
export const emptyText = ({ unreadable }: Pick<ModelTurned, "unreadable">): string =>
  unreadable === undefined
    ? empty_text
    : `[runtime] Your last turn was lost: it called a tool in a way that could not be read. Call it again with its name and with arguments that are valid JSON, or answer in words. What was wrong: ${sanitiseText(truncateUnits(unreadable, unreadable_shown_max))}`

/** The earlier call of the same turn that this one duplicates: it has the same name and arguments. */
export const duplicatedBy = (state: RunState, call: CallState): CallId | undefined => {
  const { calls } = frameOf(state, call.frame)
  for (const id of calls) {
    if (id === call.id) return undefined
    const { proposed } = callOf(state, id)
    if (
      proposed.name === call.proposed.name &&
      isSameJson(proposed.arguments, call.proposed.arguments)
    ) {
      return id
    }
  }
  return undefined
}

/** Adds a text to a 32-bit hash, as FNV-1a does with the units of UTF-16. */
const mixed = (hash: number, text: string): number => {
  let h = hash
  for (let i = 0; i < text.length; i++) {
    h = Math.imul(h ^ text.charCodeAt(i), 0x01000193) >>> 0
  }
  return h
}

const hashed = (hash: number, value: unknown): number => {
  if (typeof value !== "object" || value === null) {
    return mixed(hash, `${typeof value}:${String(value)};`)
  }
  if (Array.isArray(value)) {
    let h = mixed(hash, "[")
    for (const each of value) h = hashed(h, each)
    return mixed(h, "]")
  }
  let h = mixed(hash, "{")
  for (const key of Object.keys(value).sort()) {
    h = hashed(mixed(h, `${key}=`), (value as Record<string, unknown>)[key])
  }
  return mixed(h, "}")
}

/** Equal for calls with the same name and arguments, and in all likelihood for no others: two 32-bit hashes, so that arguments need not be kept. */
const signature = ({ proposed }: CallState): string => {
  const args = proposed.malformed ?? proposed.arguments
  return `${proposed.name}:${hashed(0x811c9dc5, args)}:${hashed(0x9747b28c, args)}`
}

/** Counts failures of equal calls. A success sets the count of its call to zero. */
export const recount = (state: RunState, call: CallState, outcome: Outcome): void => {
  if (outcome._tag === "Failed") {
    if (state.accepted.limits.repeats_max === 0) return
    const name = signature(call)
    const count = (state.used.failures?.get(name) ?? 0) + 1
    ;(state.used.failures ??= new Map()).set(name, count)
    if (count > state.used.repeats) state.used.repeats = count
    return
  }
  const { failures } = state.used
  if (outcome._tag === "Value" && failures !== undefined && failures.size > 0) {
    failures.delete(signature(call))
  }
}
