/**
 * Texts of errors for people. A defect as operators see it is the error with its stack and its causes; it may quote any value that
 * the code handled, so it goes to logs, spans and records, and never to a model, a customer or the journal. A sanitised text may
 * leave the process: one sentence without secrets, addresses, paths and stack.
 */
import { Cause, Schema } from "effect"
import { cutText, truncateUnits } from "../value/CutText.ts"
import { redact } from "./Redaction.ts"
import { withoutInvisible } from "../value/InvisibleText.ts"

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

/** The longest sanitised text, in UTF-16 units; the bound of `DeliveryFailure.error`. */
const error_text_max = 500

/** How much of an error's text is read. It bounds the time of the patterns below, which are linear. */
const read_max = 4_000

/** Replacements in addition to those of `redact`: addresses of services, and the forms in which drivers' errors quote secrets. */
const rules: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>]+/gi, "[address]"],
  [/[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+/g, "[address]"],
  [/\b(basic|bearer)\s+[A-Za-z0-9._~+/=-]+/gi, "$1 [secret]"],
  // A quoted value may hold spaces; a bare one ends at white space or a separator.
  [
    /\b([\w-]*(?:api[_-]?key|token|secret|passw(?:or)?d|authorization|cookie|credential)s?)["']?\s*[:=]\s*(?:"[^"]*"?|'[^']*'?|(?:basic |bearer )?[^\s"',;&)}]+)/gi,
    "$1=[secret]"
  ],
  [/\b(?:sk|pk|rk|ghp|gho|ghs|xox[abps]|AKIA|eyJ)[-_A-Za-z0-9.]{8,}/g, "[secret]"],
  // An id of this runtime has 36 characters of this alphabet, a digest 64 or 128, and neither is a secret.
  [
    /(?!(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}|[0-9a-f]{128})(?![A-Za-z0-9+/_=-]))(?<![A-Za-z0-9+/_=-])(?=[A-Za-z+/_=-]*[0-9])[A-Za-z0-9+/_=-]{32,}/g,
    "[secret]"
  ],
  [/\b(ENOTFOUND|EAI_AGAIN)\s+\S+/g, "$1 [address]"],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, "[address]"],
  [/(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}:?[0-9a-f]{1,4}(?::\d{1,5})?(?![\w:])/gi, "[address]"],
  [/\b(?:[a-z0-9-]{1,63}\.)*[a-z0-9-]{1,63}:\d{2,5}\b/gi, "[address]"],
  [/(?<![\w.])(?:[A-Za-z]:\\|~?\/)(?:[\w.@+-]+[\\/])+[\w.@+-]+(?::\d+)*/g, "[path]"]
]

/** The lines of a text before its first stack frame, joined into one line. */
const firstSentence = (text: string): string => {
  const kept: Array<string> = []
  for (const line of text.split(/\r\n|[\n\r\u2028\u2029]/)) {
    if (/^\s*at\s+\S/.test(line)) break
    kept.push(line)
  }
  // oxlint-disable-next-line no-control-regex -- control characters are what is taken out here
  return kept.join(" ").replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ")
}

/**
 * The text of an error as it may be stored and shown: no stack, address, e-mail, path, header or key; one line, at most 500
 * characters, never empty. Idempotent.
 */
export const sanitiseError = (text: string): string => {
  // The last word of a text that was cut may be half a secret, which no pattern would match.
  const read = text.length > read_max ? text.slice(0, read_max).replace(/\S+$/, "") : text
  let clean = firstSentence(read)
  for (const [pattern, replacement] of rules) clean = clean.replace(pattern, replacement)
  clean = withoutInvisible(redact(clean)).replace(/\s+/g, " ").trim()
  return clean === "" ? "no reason was given" : cutText(clean, error_text_max)
}
