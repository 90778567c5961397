/**
 * Summarises a call's arguments for the person who decides: without secrets and personal data, with every amount, and with
 * invisible characters written out.
 */
import { cutText, truncateUnits } from "../CutText.ts"
import { redact } from "../error/Redaction.ts"
import { isAmountName, isSecretName } from "../error/SecretNames.ts"
import { withVisible } from "../tool/InvisibleText.ts"

/** The greatest summary, in characters. */
const summary_max = 600
/**
 * The bounds tried for each text in a summary, in UTF-16 units. A smaller one is tried when the summary would otherwise be cut.
 */
const text_sizes = [160, 60, 20]
const members_max = 20
const items_max = 5

/** An amount: digits, with separators, a sign or a currency. */
const isAmount = (text: string): boolean =>
  /^[\p{Sc}\p{L} ]{0,8}[-+]?\d[\d., '_]{0,40}[\p{Sc}\p{L}% ]{0,8}$/u.test(text)

/**
 * How many UTF-16 units of one text are redacted. This is more than a summary ever shows, because redaction may shorten a text.
 */
const read_units_max = 4_000

const short = (text: string, units_max: number): string => {
  const clean = withVisible(redact(truncateUnits(text, read_units_max)))
  const isCut = clean.length > units_max || text.length > read_units_max
  return isCut ? `${truncateUnits(clean, units_max)}…` : clean
}

/** The options with which one attempt at a summary is written. */
interface Style {
  readonly text_units_max: number
  /** Puts amounts first, so that a cut hides none. */
  readonly amountsFirst: boolean
}

const shown = (value: unknown, depth: number, style: Style, name?: string): string => {
  const isExact = name !== undefined && isAmountName(name)
  if (typeof value === "string") {
    return JSON.stringify(isExact && isAmount(value) ? value : short(value, style.text_units_max))
  }
  if (value === null || typeof value !== "object") {
    return typeof value === "number" && !isExact
      ? short(String(value), style.text_units_max)
      : String(value)
  }
  if (depth === 0) return Array.isArray(value) ? `[${value.length} items]` : "{…}"
  if (Array.isArray(value)) {
    const items = value.slice(0, items_max).map((item) => shown(item, depth - 1, style, name))
    const more = value.length - items_max
    return `[${items.join(", ")}${more > 0 ? `, … ${more} more` : ""}]`
  }
  return `{${members(value as Record<string, unknown>, depth - 1, style).join(", ")}}`
}

const members = (
  record: Record<string, unknown>,
  depth: number,
  style: Style
): ReadonlyArray<string> => {
  const names = Object.keys(record)
  const isFirst = (name: string) => (isAmountName(name) ? 0 : 1)
  const sorted = style.amountsFirst ? names.toSorted((a, b) => isFirst(a) - isFirst(b)) : names
  const written = sorted.slice(0, members_max).map((name) => {
    const value = record[name]
    const text = isSecretName(name, value) ? "[redacted]" : shown(value, depth, style, name)
    return `${short(name, style.text_units_max)}: ${text}`
  })
  const more = names.length - members_max
  return more > 0 ? [...written, `… ${more} more`] : written
}

const written = (args: unknown, style: Style): string =>
  args !== null && typeof args === "object" && !Array.isArray(args)
    ? members(args as Record<string, unknown>, 3, style).join(", ")
    : shown(args, 3, style)

/** `name: value` pairs of the arguments, redacted, at most 600 characters. */
export const argsSummary = (args: unknown): string => {
  const names = args !== null && typeof args === "object" ? Object.keys(args).length : 0
  let text = ""
  for (const text_units_max of text_sizes) {
    const amountsFirst = names > members_max || text_units_max !== text_sizes[0]
    text = written(args, { text_units_max, amountsFirst })
    if (text.length <= summary_max) return text
  }
  return cutText(text, summary_max)
}
