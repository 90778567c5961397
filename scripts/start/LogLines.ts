/**
 * The log of a service: one line for each entry, on stderr, with its time, and without control characters.
 */
import { Logger } from "effect"
import type { Layer } from "effect"
import { logText } from "../../src/LogText.ts"

const isRecord = (part: unknown): part is Readonly<Record<string, unknown>> =>
  typeof part === "object" && part !== null && Object.getPrototypeOf(part) === Object.prototype

const valueText = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value))
  return /[\s="]/.test(text) ? JSON.stringify(text) : text
}

/** Members of an object beside the message are pairs of their own: of two pairs `message`, a reader of logfmt keeps one. */
export const line: Logger.Logger<unknown, string> = Logger.make((entry) => {
  const parts: ReadonlyArray<unknown> = Array.isArray(entry.message)
    ? entry.message
    : [entry.message]
  const message = parts.filter((part) => !isRecord(part))
  const pairs = parts
    .filter(isRecord)
    .flatMap((part) => Object.entries(part).map(([name, value]) => `${name}=${valueText(value)}`))
  return logText([Logger.formatLogFmt.log({ ...entry, message }), ...pairs].join(" "))
})

export const layer: Layer.Layer<never> = Logger.layer([Logger.withConsoleError(line)])
