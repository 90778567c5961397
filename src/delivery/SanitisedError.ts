/**
 * Sanitises the text of an error so that it may leave the process: one sentence without secrets, addresses, paths and stack.
 */
import { cutText } from "../value/CutText.ts"
import { redact } from "../error/Redaction.ts"
import { withoutInvisible } from "../value/InvisibleText.ts"

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
