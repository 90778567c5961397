/**
 * Tells operators what broke by itself: a defect, a promise that was rejected, a failure that nobody declared. One line
 * of the log at error level, with cause and stack. Whoever is told anything else of it is told only that it broke.
 */
import { Cause, Effect, Exit } from "effect"
import type { LogLevel } from "effect"
import type { Exception } from "../../../src/error/Exception.ts"
import { exceptionFrom, unreadable } from "../../../src/error/Exception.ts"
import { callCatching } from "./Catching.ts"

/** What it happened to, as the log's annotations: ids and names, never contents. */
export type FaultAnnotations = Readonly<Record<string, string | number | undefined>>

/** Never throws and never waits. */
export type ReportFault = (
  what: string,
  exception: Exception,
  about: FaultAnnotations,
  level?: Extract<LogLevel.LogLevel, "Error" | "Warn">
) => void

/** Never throws. */
export const exceptionOf = (cause: Cause.Cause<unknown>): Exception =>
  callCatching(exceptionFrom, cause, undefined, () => unreadable)

/** The line of the log, for whoever is an Effect. */
export const logFault = (
  what: string,
  { message, stacktrace, type }: Exception,
  about: FaultAnnotations,
  level: Extract<LogLevel.LogLevel, "Error" | "Warn"> = "Error"
): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWithLevel(level)(what), {
    ...about,
    "exception.type": type,
    "exception.message": message,
    "exception.stacktrace": stacktrace
  })

/** The same of what is done again, or was: at error level where it is a bug. */
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

/** Of a fiber that nobody waits for. */
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

/** Over the loggers of whoever builds it. */
export const makeFaultReporter: Effect.Effect<ReportFault> = Effect.map(
  Effect.context<never>(),
  (context) => {
    const fork = Effect.runForkWith(context)
    return (what, exception, about, level) => void fork(logFault(what, exception, about, level))
  }
)
