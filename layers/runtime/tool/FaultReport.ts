/**
 * Reports faults of code to operators: a defect, a rejected promise, a failure that is not declared. One line of the log at
 * error level with cause and stack. Models, users and the journal learn only that something broke.
 */
import { Cause, Effect, Exit } from "effect"
import type { Exception } from "../../../src/error/Exception.ts"
import { exceptionFrom, unreadableException } from "../../../src/error/Exception.ts"
import { callCatching } from "../fiber/Catching.ts"

/** What the fault happened to, as annotations of the log: ids and names, never contents. */
export type FaultAnnotations = Readonly<Record<string, string | number | undefined>>

/** Never throws and never waits. */
export type ReportFault = (what: string, exception: Exception, about: FaultAnnotations) => void

/** Never throws. */
export const exceptionOf = (cause: Cause.Cause<unknown>): Exception =>
  callCatching(exceptionFrom, cause, undefined, () => unreadableException)

/** Logs a fault as one line, at error level. */
export const logFault = (
  what: string,
  { message, stacktrace, type }: Exception,
  about: FaultAnnotations
): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logError(what), {
    ...about,
    "exception.type": type,
    "exception.message": message,
    "exception.stacktrace": stacktrace
  })

/** Logs the crash of what is tried again: a defect at error level, anything else at `level`. */
export const logCrash = (
  what: string,
  cause: Cause.Cause<unknown>,
  about: FaultAnnotations,
  level: "Error" | "Warn"
) =>
  Effect.annotateLogs(
    Effect.logWithLevel(Cause.hasDies(cause) ? "Error" : level)(what, cause),
    about
  )

/** Reports the exit of a fiber that is not awaited; an interruption is no fault. */
export const reportFailedExit = (
  report: ReportFault,
  what: string,
  exit: Exit.Exit<unknown, unknown>,
  about: FaultAnnotations
): void => {
  if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
    report(what, exceptionOf(exit.cause), about)
  }
}

/** A reporter over the loggers of the fiber that makes it. */
export const makeFaultReporter: Effect.Effect<ReportFault> = Effect.map(
  Effect.context<never>(),
  (context) => {
    const fork = Effect.runForkWith(context)
    return (what, exception, about) => void fork(logFault(what, exception, about))
  }
)
