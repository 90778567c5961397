/**
 * A defect as operators see it: the error, its stack and its causes. It may quote any value that the code handled, so it
 * goes to logs, spans and records, and never to a model, a customer or the journal.
 */
import { Cause, Schema } from "effect"
import { cutText, truncateUnits } from "../value/CutText.ts"
import { redact } from "./Redaction.ts"

const type_max = 200
const message_max = 2_000
const stacktrace_max = 8_000

/** The names are OpenTelemetry's (`exception.*`). The texts are redacted (`Redaction.ts`). */
export const Exception = Schema.Struct({
  /** At most 200 characters. */
  type: Schema.String,
  /** At most 2,000 characters. */
  message: Schema.String,
  /** With its causes; at most 8,000 characters. */
  stacktrace: Schema.String
})
export interface Exception extends Schema.Schema.Type<typeof Exception> {}

/** All control characters but tab and line feed: a terminal that shows the log would interpret them. */
// oxlint-disable-next-line no-control-regex -- control characters are what is removed here
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** Cuts the text before it is redacted, which bounds the time. */
const bounded = (text: string, most: number): string => {
  const read = cutText(text, most)
  return truncateUnits(redact(read.replace(control, "")), most)
}

/** Throws where reading a member of the error throws. */
export const exceptionFrom = (cause: Cause.Cause<unknown>): Exception => {
  const error = Cause.squash(cause)
  const isError = error instanceof Error
  const named = isError && "_tag" in error ? error._tag : isError ? error.name : typeof error
  return {
    type: bounded(String(named), type_max),
    message: bounded(isError ? error.message : String(error), message_max),
    stacktrace: bounded(Cause.pretty(cause), stacktrace_max)
  }
}

/** Stands for an error whose members cannot be read. */
export const unreadableException: Exception = {
  type: "unreadable",
  message: "an error whose members cannot be read",
  stacktrace: ""
}
