/**
 * Tells operators what broke by itself: a defect, a promise that was rejected, a failure that nobody declared. One line
 * of the log at error level, with cause and stack. Whoever is told anything else of it is told only that it broke.
 */
import { Cause, Effect, Exit } from "effect"
import type { LogLevel } from "effect"
import type { Exception } from "../../../src/error/Exception.ts"
import { exceptionFrom, unreadable } from "../../../src/error/Exception.ts"
import { attempt } from "./Catching.ts"

/** What it happened to, as the log's annotations: ids and names, never contents. */
export type About = Readonly<Record<string, string | number | undefined>>

/** Never throws and never waits. */
export type Report = (
  what: string,
  exception: Exception,
  about: About,
  level?: Extract<LogLevel.LogLevel, "Error" | "Warn">
) => void

/** Never throws. */
export const exceptionOf = (cause: Cause.Cause<unknown>): Exception =>
  attempt(exceptionFrom, cause, undefined, () => unreadable)

/** The line of the log, for whoever is an Effect. */
export const logged = (
  what: string,
  { message, stacktrace, type }: Exception,
  about: About,
  level: Extract<LogLevel.LogLevel, "Error" | "Warn"> = "Error"
): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWithLevel(level)(what), {
    ...about,
    "exception.type": type,
    "exception.message": message,
    "exception.stacktrace": stacktrace
  })

/** The same of what is done again, or was: at error level where it is a bug. */
export const crashed = (
  what: string,
  cause: Cause.Cause<unknown>,
  about: About,
  level: "Error" | "Warn"
) =>
  Effect.annotateLogs(
    Effect.logWithLevel(Cause.hasDies(cause) ? "Error" : level)(what, cause),
    about
  )

/** Of a fiber that nobody waits for. */
export const reportExit = (
  report: Report,
  what: string,
  exit: Exit.Exit<unknown, unknown>,
  about: About
): void => {
  if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
    report(what, exceptionOf(exit.cause), about)
  }
}

/** Over the loggers of whoever builds it. */
export const reporter: Effect.Effect<Report> = Effect.map(Effect.context<never>(), (context) => {
  const fork = Effect.runForkWith(context)
  return (what, exception, about, level) => void fork(logged(what, exception, about, level))
})
