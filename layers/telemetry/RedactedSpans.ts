/**
 * What an error says, on its way into a span: as it goes to a log, without keys, addresses and numbers of cards, and
 * bounded. An exporter writes of a failed span its message and its stack, which may quote anything that the code met.
 */
import { Cause, Exit } from "effect"
import type { Tracer } from "effect"
import { exceptionFrom, unreadable } from "../../src/error/Exception.ts"
import type { Exception } from "../../src/error/Exception.ts"
import { redact } from "../../src/error/Redaction.ts"

/** Of an event: a line that was logged in the span, or the cause that was logged with it; in UTF-16 units. */
const line_max = 2_000
const cause_max = 8_000

/** Attributes of an event that quote an error. */
const quotes = (name: string): boolean => name === "effect.cause" || name.startsWith("exception.")

const told = (cause: Cause.Cause<unknown>): Exception => {
  try {
    return exceptionFrom(cause)
  } catch {
    return unreadable
  }
}

/** An interruption says nothing; all else becomes one error, whose stack holds what caused it. */
const redactedExit = <A, E>(exit: Exit.Exit<A, E>): Exit.Exit<A, unknown> => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return exit
  const { message, stacktrace, type } = told(exit.cause)
  const error = new Error(message)
  error.name = type
  error.stack = stacktrace
  return Exit.fail(error)
}

const redactedAttributes = (
  attributes: Record<string, unknown> | undefined
): Record<string, unknown> | undefined =>
  attributes === undefined
    ? undefined
    : Object.fromEntries(
        Object.entries(attributes).map(([name, value]) => [
          name,
          quotes(name) && typeof value === "string"
            ? redact(value.slice(0, cause_max)).slice(0, cause_max)
            : value
        ])
      )

/** The same span: what is told of it from here on is redacted first. */
export const redactSpan = <Span extends Tracer.Span>(span: Span): Span => {
  const end = span.end.bind(span)
  const event = span.event.bind(span)
  span.end = (at, exit) => end(at, redactedExit(exit))
  span.event = (name, at, attributes) =>
    event(redact(name.slice(0, line_max)).slice(0, line_max), at, redactedAttributes(attributes))
  return span
}
