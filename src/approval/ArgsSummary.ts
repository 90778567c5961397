/**
 * What a person is shown of a call's arguments: enough to decide, without secrets and personal data (ST-28).
 */

/** The greatest summary, in characters. */
export const summary_max = 600
const value_max = 160

const secretKey =
  /pass(word|phrase)?|secret|token|api[-_]?key|authorization|credential|cookie|private[-_]?key|ssn/i
/** Begins only where a word begins: tried at each letter of a long one, it would cost the square of its length. */
const email = /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]+@[\p{L}\p{N}.-]+\.\p{L}{2,}/gu
/** Not a date, which a time of day may follow. */
const phone =
  /(?<![\p{L}\p{N}-])(?!\d{4}-\d\d-\d\d(?!\d))\+?\d(?:[\s().-]?\d){8,14}(?![\p{L}\p{N}-])/gu
const card = /(?<![\p{L}\p{N}-])(?:\d[ -]?){13,19}(?![\p{L}\p{N}-])/gu
/** Bearer tokens, JWTs, `sk-...` style keys and any long run of mixed letters and digits that is not a UUID. */
const token =
  /\bBearer\s+\S+|\beyJ[\w-]+\.[\w-]+\.[\w-]*|\b(?:sk|pk|ghp|gho|xox[abp])[-_][\w-]{8,}|(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])(?![0-9a-f]{8}-)[\w-]{32,}\b/g

/** One text without e-mail addresses, phone and card numbers, and keys. */
export const redact = (text: string): string =>
  text
    .replace(token, "[token]")
    .replace(email, "[e-mail]")
    .replace(card, "[number]")
    .replace(phone, "[phone]")

const short = (text: string): string => {
  const clean = redact(text.length > 4_000 ? text.slice(0, 4_000) : text)
  return clean.length > value_max ? `${clean.slice(0, value_max)}…` : clean
}

const shown = (value: unknown, depth: number): string => {
  if (typeof value === "string") return JSON.stringify(short(value))
  if (value === null || typeof value !== "object")
    return typeof value === "number" ? short(String(value)) : String(value)
  if (depth === 0) return Array.isArray(value) ? `[${value.length} items]` : "{…}"
  if (Array.isArray(value)) {
    const items = value.slice(0, 5).map((item) => shown(item, depth - 1))
    return `[${items.join(", ")}${value.length > 5 ? `, … ${value.length - 5} more` : ""}]`
  }
  return `{${members(value as Record<string, unknown>, depth - 1).join(", ")}}`
}

const members = (record: Record<string, unknown>, depth: number): ReadonlyArray<string> =>
  Object.keys(record)
    .slice(0, 20)
    .map(
      (key) => `${short(key)}: ${secretKey.test(key) ? "[redacted]" : shown(record[key], depth)}`
    )

/** `name: value` pairs of the arguments, redacted, at most 600 characters. */
export const argsSummary = (args: unknown): string => {
  const text =
    args !== null && typeof args === "object" && !Array.isArray(args)
      ? members(args as Record<string, unknown>, 3).join(", ")
      : shown(args, 3)
  return text.length > summary_max ? `${text.slice(0, summary_max - 1)}…` : text
}
