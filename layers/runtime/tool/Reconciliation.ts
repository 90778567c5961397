/**
 * What a tool's answer about a lost call means for the call. Where the tool cannot say, the outcome stays unknown; it is
 * never guessed.
 */
import { Cause, Exit, Clock, Effect } from "effect"
import { isToolError } from "../../../src/error/ToolError.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { Reconciled } from "../../../src/tool/GovernedTool.ts"
import { callCatching } from "../fiber/Catching.ts"
import { bodyOutcome } from "./CallOutcome.ts"
import type { CallHost, AgentTool } from "./CallHost.ts"
import { strippedToolError } from "./StrippedBody.ts"
import { withPossibleSideEffect, failedOutcome } from "./FailedOutcome.ts"
import { exceptionOf } from "./FaultReport.ts"

// How long an attempt of a reconcilable write may act. Each process measures by its own monotonic clock, because a wall clock
// that was set ahead would make an attempt seem over that still acts.

/** A dispatch that takes longer than this begins no body: a later owner may reconcile the call by then. */
const dispatch_ms_max = 5_000

/** The longest time between the beginning of a dispatch and that of its body, in ms. */
export const dispatchGraceMs = ({ spec }: AgentTool): number =>
  Math.min(spec.timeout_ms, dispatch_ms_max)

/** The longest time between the beginning of a dispatch and the end of its body, in ms. */
export const attemptMs = (tool: AgentTool): number => dispatchGraceMs(tool) + tool.spec.timeout_ms

/**
 * Waits until an attempt of an earlier owner is over: as long as an attempt can take, from now on, because that owner
 * dispatches nothing any more. `over_at`, in ms since 1970, shortens nothing; it lengthens the wait, up to twice, where the
 * tool's timeout was longer then.
 */
export const waitUntilOver = Effect.fnUntraced(function* (tool: AgentTool, over_at: number) {
  const left_ms = over_at - (yield* Clock.currentTimeMillis)
  const attempt_ms = attemptMs(tool)
  yield* Effect.sleep(Math.max(attempt_ms, Math.min(left_ms, 2 * attempt_ms)))
})

export type Reconciliation =
  | { readonly _tag: "Settled"; readonly outcome: Outcome }
  /** The call did nothing, and may be run. */
  | { readonly _tag: "NotHappened" }
  | { readonly _tag: "Unknown" }
  /** `reconcile` failed, and may succeed at another time. */
  | { readonly _tag: "Unanswered" }

export const reconciliation_unknown: Reconciliation = { _tag: "Unknown" }

/** What an author's function gives is checked by its tag: from JavaScript it may be anything, and may throw when it is read. */
const reconciliationBy = (
  host: Pick<CallHost, "hidden" | "reportFault">,
  tool: AgentTool,
  answer: Reconciled | undefined
): Reconciliation => {
  switch (answer?._tag) {
    case "Happened":
      return {
        _tag: "Settled",
        outcome: withPossibleSideEffect(bodyOutcome(host, tool, Exit.succeed(answer.result)))
      }
    case "NotHappened":
      return { _tag: "NotHappened" }
    case "Failed":
      return isToolError(answer.error)
        ? {
            _tag: "Settled",
            outcome: withPossibleSideEffect(
              failedOutcome(
                host.hidden === undefined
                  ? answer.error
                  : strippedToolError(answer.error, host.hidden)
              )
            )
          }
        : reconciliation_unknown
    default:
      return reconciliation_unknown
  }
}

/** `exit` is that of the tool's `reconcile`; undefined = it ran out of time. */
export const reconciliationOf = (
  host: Pick<CallHost, "hidden" | "reportFault">,
  tool: AgentTool,
  exit: Exit.Exit<unknown, unknown> | undefined
): Reconciliation => {
  if (exit === undefined) return { _tag: "Unanswered" }
  if (Exit.isSuccess(exit)) {
    const read = (answer: Reconciled | undefined) => reconciliationBy(host, tool, answer)
    return callCatching(read, exit.value as Reconciled | undefined, undefined, (defect) => {
      host.reportFault(
        "the reconcile of a tool broke",
        exceptionOf(Cause.die(defect)),
        tool.spec.name
      )
      return reconciliation_unknown
    })
  }
  const { cause } = exit
  if (Cause.hasInterruptsOnly(cause)) return { _tag: "Unanswered" }
  const found = Cause.findErrorOption(cause)
  // A defect or a failure of no class is a fault of `reconcile`, and says nothing of the call.
  if (found._tag === "None" || !isToolError(found.value)) {
    host.reportFault("the reconcile of a tool broke", exceptionOf(cause), tool.spec.name)
    return reconciliation_unknown
  }
  const error = found.value
  return error._tag === "ToolTransientError"
    ? { _tag: "Unanswered" }
    : { _tag: "Settled", outcome: withPossibleSideEffect(failedOutcome(error)) }
}
