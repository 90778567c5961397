/**
 * What went wrong in a tool's body, in the four classes, and what that says about its side effect.
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
import { exceptionOf } from "./FaultReport.ts"

export const failedOutcome = (error: ToolError): Outcome => ({
  _tag: "Failed",
  error: failureOf(error)
})

/**
 * The exceptions behind failed outcomes, beside them: an outcome is journaled and read by a model, and holds no text of an
 * exception. An entry lives as long as its outcome in this process.
 */
const exceptions = new WeakMap<Outcome, Exception>()

/** The exception behind an outcome that a fault of code caused. */
export const exceptionBehind = (outcome: Outcome): Exception | undefined => exceptions.get(outcome)

/** The same outcome, with the exception that operators get. */
export const withException = (outcome: Outcome, cause: Cause.Cause<unknown>): Outcome => {
  exceptions.set(outcome, exceptionOf(cause))
  return outcome
}

export const defect_reason = "DEFECT"
const defect_message = "The tool failed by a defect of its own."

/**
 * What went wrong in a body, as one of the four classes. A failure that is a text is of the kind `unknown` and keeps its text,
 * which was written for a reader. Any other failure of no class is a defect and keeps no text: the message of an
 * error may quote secrets.
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

/** The failed outcome of a call whose body failed with this cause. */
export const outcomeOfCause = (cause: Cause.Cause<unknown>): Outcome => {
  const error = classifyCause(cause)
  const outcome = failedOutcome(error)
  return error.reason === defect_reason ? withException(outcome, cause) : outcome
}

/** Does the cause leave open whether a dispatched side effect happened? So do a lost connection, a timeout and an interruption. */
export const isOutcomeLost = (cause: Cause.Cause<unknown>): boolean => {
  if (Cause.hasInterruptsOnly(cause)) return true
  const error = classifyCause(cause)
  return (
    error._tag === "ToolTransientError" && (error.kind === "timeout" || error.kind === "network")
  )
}

/** The reason of a failure that leaves its outcome open for good: the tool's `reconcile` would say no more. */
export const outcome_unknown_reason = "OUTCOME_UNKNOWN"

export const isOutcomeUnknowable = (cause: Cause.Cause<unknown>): boolean =>
  classifyCause(cause).reason === outcome_unknown_reason

export const timeoutError = (timeout_ms: number): ToolTransientError =>
  new ToolTransientError({
    kind: "timeout",
    reason: "TIMEOUT",
    message: `the tool did not answer within ${timeout_ms} ms.`
  })

/** The outcome with a further sentence for whoever reads it. */
export const withSentence = (
  outcome: Extract<Outcome, { readonly _tag: "Failed" }>,
  sentence: string
): Outcome => {
  const { error } = outcome
  const told: Outcome = {
    _tag: "Failed",
    error: { ...error, message: `${error.message} ${sentence}` }
  }
  const exception = exceptions.get(outcome)
  if (exception !== undefined) exceptions.set(told, exception)
  return told
}

/** How a receipt begins: the body has run to its end, and only what it gave could not be taken. */
export const has_run = "It has run"

/** The outcome of a write with a warning where a fault of code failed it: the side effect may have happened nevertheless. */
export const withPossibleSideEffect = (outcome: Outcome): Outcome =>
  outcome._tag !== "Failed" ||
  outcome.error.kind !== "internal" ||
  outcome.error.message.includes(has_run)
    ? outcome
    : withSentence(outcome, "It may have taken effect.")
