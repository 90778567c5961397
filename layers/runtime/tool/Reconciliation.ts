/**
 * What a tool says of a call that was lost, and what that means for the call. A tool that cannot say leaves it unknown:
 * nothing here guesses.
 */
import { Cause, Exit } from "effect"
import { isToolError } from "../../../src/error/ToolError.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { Reconciled } from "../../../src/tool/GovernedTool.ts"
import { bodyOutcome } from "./CallOutcome.ts"
import type { CallHost, AgentTool } from "./CallHost.ts"
import { withPossibleSideEffect, failedOutcome } from "./Failures.ts"
import { exceptionOf } from "./Faults.ts"

export type Reconciliation =
  | { readonly _tag: "Settled"; readonly outcome: Outcome }
  /** It did nothing, so that it may be run. */
  | { readonly _tag: "NotHappened" }
  | { readonly _tag: "Unknown" }
  /** The question came to nothing; at another time it may not. */
  | { readonly _tag: "Unasked" }

export const reconciliation_unknown: Reconciliation = { _tag: "Unknown" }

/** `exit` is that of the tool's `reconcile`; undefined = it did not end in time. */
export const reconciliationOf = (
  host: Pick<CallHost, "reportFault">,
  tool: AgentTool,
  exit: Exit.Exit<unknown, unknown> | undefined
): Reconciliation => {
  if (exit === undefined) return { _tag: "Unasked" }
  if (Exit.isSuccess(exit)) {
    // From JavaScript it may be anything.
    const said = exit.value as Reconciled | undefined
    switch (said?._tag) {
      case "Happened":
        return {
          _tag: "Settled",
          outcome: withPossibleSideEffect(bodyOutcome(host, tool, Exit.succeed(said.result)))
        }
      case "NotHappened":
        return { _tag: "NotHappened" }
      case "Failed":
        return isToolError(said.error)
          ? { _tag: "Settled", outcome: withPossibleSideEffect(failedOutcome(said.error)) }
          : reconciliation_unknown
      default:
        return reconciliation_unknown
    }
  }
  const { cause } = exit
  if (Cause.hasInterruptsOnly(cause)) return { _tag: "Unasked" }
  const found = Cause.findErrorOption(cause)
  // A defect, or a failure of no class, is of the question and not of the call.
  if (found._tag === "None" || !isToolError(found.value)) {
    host.reportFault("the reconcile of a tool broke", exceptionOf(cause), tool.spec.name)
    return reconciliation_unknown
  }
  const error = found.value
  return error._tag === "ToolTransientError"
    ? { _tag: "Unasked" }
    : { _tag: "Settled", outcome: withPossibleSideEffect(failedOutcome(error)) }
}
