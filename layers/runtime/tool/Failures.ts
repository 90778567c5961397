/**
 * What went wrong in a tool's body, in the four classes, and what that says about its effect.
 */
import { Cause } from "effect"
import type { Exception } from "../../../src/error/Exception.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import {
  failureOf,
  isToolError,
  ToolTerminalError,
  ToolTransientError
} from "../../../src/error/ToolError.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import { exceptionOf } from "./Faults.ts"

export const failedOutcome = (error: ToolError): Outcome => ({
  _tag: "Failed",
  error: failureOf(error)
})

/**
 * What broke, beside the outcome that says that it did: nothing of it is in the outcome itself, which the journal keeps
 * and a model reads. It lives as long as the outcome does in this process.
 */
const exceptions = new WeakMap<Outcome, Exception>()

/** What broke, where code did that by itself. */
export const exceptionBehind = (outcome: Outcome): Exception | undefined => exceptions.get(outcome)

/** The same outcome, with what an operator is told of it. */
export const withException = (outcome: Outcome, cause: Cause.Cause<unknown>): Outcome => {
  exceptions.set(outcome, exceptionOf(cause))
  return outcome
}

const defect_reason = "DEFECT"
const defect_message = "The tool failed by a defect of its own."

/**
 * What went wrong in a body, as one of the four classes. A failure that is a text is unknown and keeps it (SM-18): whoever
 * wrote it wrote it for a reader. Any other failure of no class is a defect, of which no text is kept: an error's message
 * may hold whatever it met.
 */
const classifyCause = (cause: Cause.Cause<unknown>): ToolError => {
  const reason = cause.reasons.find(Cause.isFailReason)
  if (reason !== undefined) {
    const { error } = reason
    if (isToolError(error)) return error
    if (typeof error === "string") return new ToolTerminalError({ kind: "unknown", message: error })
  }
  return new ToolTerminalError({ kind: "internal", reason: defect_reason, message: defect_message })
}

/** The same as the call's outcome. */
export const outcomeOfCause = (cause: Cause.Cause<unknown>): Outcome => {
  const error = classifyCause(cause)
  const outcome = failedOutcome(error)
  return error.reason === defect_reason ? withException(outcome, cause) : outcome
}

/** After a dispatch a lost connection, a timeout or an interruption from inside says nothing about the effect. */
export const isOutcomeLost = (cause: Cause.Cause<unknown>): boolean => {
  if (Cause.hasInterruptsOnly(cause)) return true
  const error = classifyCause(cause)
  return (
    error._tag === "ToolTransientError" && (error.kind === "timeout" || error.kind === "network")
  )
}

/** The reason of a loss of which its tool could not say more if it were asked: whoever ran it has said so. */
export const outcome_unknown_reason = "OUTCOME_UNKNOWN"

export const isOutcomeUnknowable = (cause: Cause.Cause<unknown>): boolean =>
  classifyCause(cause).reason === outcome_unknown_reason

export const timeoutError = (timeout_ms: number): ToolTransientError =>
  new ToolTransientError({
    kind: "timeout",
    reason: "TIMEOUT",
    message: `the tool did not answer within ${timeout_ms} ms.`
  })

/** A write that failed by a fault of its own may have done what it was asked to: the model must not take it for undone. */
export const withPossibleSideEffect = (outcome: Outcome): Outcome => {
  if (outcome._tag !== "Failed" || outcome.error.kind !== "internal") return outcome
  const message = `${outcome.error.message} It may have taken effect.`
  const doubt: Outcome = { _tag: "Failed", error: { ...outcome.error, message } }
  const exception = exceptions.get(outcome)
  if (exception !== undefined) exceptions.set(doubt, exception)
  return doubt
}
