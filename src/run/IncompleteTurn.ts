/**
 * What follows when a provider cut a turn short, refused or filtered it: which of its calls may run all the same, and whether
 * the frame has another turn.
 */
import { failureOf, ToolUserError } from "../error/ToolError.ts"
import type { FinishReason, ModelTurned, Outcome, ProposedCall } from "./RunEvent.ts"

/** Is the turn what its model meant to say? */
export const isCompleteFinish = (finish: FinishReason): boolean =>
  finish === "stop" || finish === "tool_calls"

/** Did the turn end so that none of its calls may run? */
const isBlockedFinish = (finish: FinishReason): boolean =>
  finish === "refusal" || finish === "content_filter"

/** An object with a member. An empty one is also what a gateway makes of arguments that never came. */
const isWhole = ({ arguments: args, malformed }: ProposedCall): boolean =>
  malformed === undefined &&
  typeof args === "object" &&
  args !== null &&
  !Array.isArray(args) &&
  Object.keys(args).length > 0

const withheldText = (finish: FinishReason): string => {
  switch (finish) {
    case "refusal":
      return "the turn was cut: its provider says that it was refused, so none of its calls ran."
    case "content_filter":
      return "the turn was cut: its provider filtered it, so none of its calls ran."
    case "length":
      return "the turn was cut at the limit of its length, before the arguments of this call were complete: it did not run. Call again with shorter arguments, or with less before the call."
    default:
      return "the turn was cut: nothing says that the arguments of this call are complete, so it did not run. Call again."
  }
}

/**
 * The result of a call that must not run because of how its turn ended: every call of a refused or filtered turn; in a turn that
 * was cut, each call whose arguments may be incomplete. Undefined = it may run.
 */
export const withheldResult = (turn: ModelTurned, call: ProposedCall): Outcome | undefined => {
  const { finish } = turn
  if (isCompleteFinish(finish) || (!isBlockedFinish(finish) && isWhole(call))) return undefined
  const error = new ToolUserError({
    kind: "invalid_args",
    reason: "TURN_CUT",
    message: withheldText(finish)
  })
  return { _tag: "Failed", error: failureOf(error) }
}

/** Appended to a specialist's answer for its supervisor when the last turn did not end well; empty if it did. */
export const incompleteNote = (finish: FinishReason | undefined): string => {
  switch (finish) {
    case "length":
      return "\n[runtime] This answer was cut at the limit of its length."
    case "refusal":
      return "\n[runtime] This answer was refused by the model."
    case "content_filter":
      return "\n[runtime] This answer was filtered by the provider."
    default:
      return ""
  }
}

/** The reason of a frame that ended because the provider filtered its turn or its prompt. */
export const filtered_reason = "content_filtered"

/** Why a turn ends its frame without an answer. `message` is for operators. */
interface UnusableTurn {
  readonly reason: "truncated" | "refused" | typeof filtered_reason
  readonly message: string
}

const rawFinishText = ({ finish_raw }: ModelTurned): string =>
  finish_raw === undefined ? "" : ` (${finish_raw})`

/**
 * Why the frame ends with this turn, because the same prompt would bring, and cost, the same turn again: it was cut at its limit
 * before it had any text or call, or it was refused or filtered and has no text or has calls. Undefined = the frame goes on, or
 * this is its answer.
 */
export const unusableTurnOf = (turn: ModelTurned): UnusableTurn | undefined => {
  const { calls, finish, text } = turn
  if (isCompleteFinish(finish)) return undefined
  const silent = text.trim() === ""
  if (finish === "length" && silent && calls.length === 0) {
    return {
      reason: "truncated",
      message: `the turn was cut at the limit of its output before it said anything${rawFinishText(turn)}: raise max_output_tokens, or ask for less reasoning. It is not repeated, because the same prompt has the same limit.`
    }
  }
  if (!isBlockedFinish(finish) || (!silent && calls.length === 0)) return undefined
  const what = calls.length > 0 ? "; none of its calls ran" : " and said nothing"
  return finish === "refusal"
    ? { reason: "refused", message: `the model refused to go on${rawFinishText(turn)}${what}` }
    : { reason: filtered_reason, message: `the provider filtered${rawFinishText(turn)}${what}` }
}
