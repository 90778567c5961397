/**
 * Redacts the texts of errors in spans as in the log: without keys, addresses and card numbers, and bounded. Exporters
 * write the message and stack of a failed span, which may quote anything that the code read. Attributes are bounded, and
 * have no query of a URL: it holds a tool's arguments, names of files and addresses of people.
 */
import { Cause, Exit } from "effect"
import type { Tracer } from "effect"
import { truncateUnits } from "../../src/value/CutText.ts"
import { exceptionFrom, unreadableException } from "../../src/error/Exception.ts"
import type { Exception } from "../../src/error/Exception.ts"
import { redact } from "../../src/error/Redaction.ts"

/** The bound on a logged line or cause in a span's event, in UTF-16 units. */
const line_max = 2_000
const cause_max = 8_000

/** The bound on a text of an attribute: some are whatever a client or a provider sends. */
const attribute_max = 1_000

/** Attributes of an event that quote an error. */
const quotes = (name: string): boolean => name === "effect.cause" || name.startsWith("exception.")

const exceptionOrUnreadable = (cause: Cause.Cause<unknown>): Exception => {
  try {
    return exceptionFrom(cause)
  } catch {
    return unreadableException
  }
}

/** An interruption has no text; other causes become one error whose stack has the chain of causes. */
const redactedExit = <A, E>(exit: Exit.Exit<A, E>): Exit.Exit<A, unknown> => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return exit
  const { message, stacktrace, type } = exceptionOrUnreadable(exit.cause)
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
            ? truncateUnits(redact(truncateUnits(value, cause_max)), cause_max)
            : value
        ])
      )

const redactedPath = (path: string): string => redact(truncateUnits(path, attribute_max))

/** The URL up to its query, without a user. Its host and port stay: an address there is a service's, not a person's. */
const redactedUrl = (url: string): string => {
  const [, scheme = "", host = "", path = ""] =
    /^(?:([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#]*@)?([^/?#]*))?([^?#]*)/i.exec(url) ?? []
  return scheme + host + redactedPath(path)
}

const boundedValue = (name: string, value: unknown): unknown => {
  if (typeof value !== "string") return value
  if (name === "url.path") return redactedPath(value)
  return truncateUnits(name === "url.full" ? redactedUrl(value) : value, attribute_max)
}

/** The span, with later attributes, events and ends redacted. */
export const redactSpan = <Span extends Tracer.Span>(span: Span): Span => {
  const attribute = span.attribute.bind(span)
  span.attribute = (name, value) => {
    if (name !== "url.query") attribute(name, boundedValue(name, value))
  }
  const end = span.end.bind(span)
  const event = span.event.bind(span)
  span.end = (at, exit) => end(at, redactedExit(exit))
  span.event = (name, at, attributes) =>
    event(
      truncateUnits(redact(truncateUnits(name, line_max)), line_max),
      at,
      redactedAttributes(attributes)
    )
  return span
}
