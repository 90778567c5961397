/**
 * What went wrong in a tool's body, in the four classes, and what that says about its effect.
 */
import { Cause } from "effect"
import type { ToolError } from "../../src/error/ToolError.ts"
import {
  failureOf,
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError,
  ToolUserError
} from "../../src/error/ToolError.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"

export const failed = (error: ToolError): Outcome => ({ _tag: "Failed", error: failureOf(error) })

const defect_message = "The tool failed by a defect of its own."

/** What went wrong in a body, as one of the four classes. The text of a defect is never kept, that of a failure is. */
export const classify = (cause: Cause.Cause<unknown>): ToolError => {
  for (const reason of cause.reasons) {
    if (reason._tag !== "Fail") continue
    const error = reason.error
    if (
      error instanceof ToolUserError ||
      error instanceof ToolPolicyError ||
      error instanceof ToolTransientError ||
      error instanceof ToolTerminalError
    ) {
      return error
    }
    return new ToolTerminalError({
      kind: "unknown",
      message:
        typeof error === "string" ? error : error instanceof Error ? error.message : "it failed"
    })
  }
  return new ToolTerminalError({ kind: "internal", reason: "DEFECT", message: defect_message })
}

/** After a dispatch a lost connection, a timeout or an interruption from inside says nothing about the effect. */
export const isLoss = (cause: Cause.Cause<unknown>): boolean => {
  if (Cause.hasInterruptsOnly(cause)) return true
  const error = classify(cause)
  return (
    error._tag === "ToolTransientError" && (error.kind === "timeout" || error.kind === "network")
  )
}

/** The reason of a loss of which its tool could not say more if it were asked: whoever ran it has said so. */
export const outcome_unknown = "OUTCOME_UNKNOWN"

export const isUnknowable = (cause: Cause.Cause<unknown>): boolean =>
  classify(cause).reason === outcome_unknown

export const timedOut = (timeout_ms: number): ToolTransientError =>
  new ToolTransientError({
    kind: "timeout",
    reason: "TIMEOUT",
    message: `the tool did not answer within ${timeout_ms} ms.`
  })

/** A write that failed by a fault of its own may have done what it was asked to: the model must not take it for undone. */
export const doubted = (outcome: Outcome): Outcome =>
  outcome._tag === "Failed" && outcome.error.kind === "internal"
    ? {
        _tag: "Failed",
        error: { ...outcome.error, message: `${outcome.error.message} It may have taken effect.` }
      }
    : outcome
