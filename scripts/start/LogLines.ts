/**
 * The log of a service: one line for each entry, on stderr, with its time, and without control characters. It is logfmt, or JSON
 * with the same names.
 */
import { Cause, Formatter, Logger, Result } from "effect"
import type { Layer } from "effect"
import { logText } from "../../src/value/InvisibleText.ts"

export type LogFormat = "logfmt" | "json"

const isRecord = (part: unknown): part is Readonly<Record<string, unknown>> =>
  typeof part === "object" && part !== null && Object.getPrototypeOf(part) === Object.prototype

/** A text of anything, also of what is no JSON: a log line never fails. */
const valueOf = (value: unknown): string =>
  typeof value === "string" ? value : Formatter.format(value)

/** As JSON shows it; what is none, such as an error, a bigint or a cycle, as its text. */
const jsonOf = (value: unknown): unknown => {
  if (value instanceof Error || value instanceof Map || value instanceof Set) return valueOf(value)
  const text = Result.try(() => JSON.stringify(value) as string | undefined)
  return Result.isSuccess(text) && text.success !== undefined ? value : valueOf(value)
}

const valueText = (value: unknown): string => {
  const text = valueOf(value)
  return /[\s="]/.test(text) ? JSON.stringify(text) : text
}

/** The parts of a message that are no objects, and the members of those that are. */
const partsOf = (message: unknown) => {
  const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
  return {
    message: parts.filter((part) => !isRecord(part)),
    members: parts.filter(isRecord).flatMap((part) => Object.entries(part))
  }
}

/** Members of an object beside the message are pairs of their own: of two pairs `message`, a reader of logfmt keeps one. */
export const line: Logger.Logger<unknown, string> = Logger.make((entry) => {
  const { members, message } = partsOf(entry.message)
  const pairs = members.map(([name, value]) => `${name}=${valueText(value)}`)
  return logText([Logger.formatLogFmt.log({ ...entry, message }), ...pairs].join(" "))
})

/** Members of every line. An annotation of such a name has an underscore behind it. */
const own_names: ReadonlySet<string> = new Set(["timestamp", "level", "fiber", "message", "cause"])

/** The time as ISO 8601, and annotations and members of objects beside the message, in one flat object. */
export const json_line: Logger.Logger<unknown, string> = Logger.make((entry) => {
  const { members, message } = partsOf(entry.message)
  const { annotations, fiberId, level, timestamp } = Logger.formatStructured.log(entry)
  const about = [...Object.entries(annotations), ...members].map(
    ([name, value]) => [own_names.has(name) ? `${name}_` : name, jsonOf(value)] as const
  )
  return logText(
    JSON.stringify({
      timestamp,
      level,
      fiber: fiberId,
      message: message.map(valueOf).join(" "),
      ...(entry.cause.reasons.length === 0 ? undefined : { cause: Cause.pretty(entry.cause) }),
      ...Object.fromEntries(about)
    })
  )
})

const lines: Readonly<Record<LogFormat, Logger.Logger<unknown, string>>> = {
  logfmt: line,
  json: json_line
}

export const layer = (format: LogFormat): Layer.Layer<never> =>
  Logger.layer([Logger.withConsoleError(lines[format])])
