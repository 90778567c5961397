/**
 * Summarises a call's arguments for the person who decides: without secrets and personal data, with every amount, and with
 * invisible characters written out.
 */
import { cutText, truncateUnits } from "../value/CutText.ts"
import { redact } from "../error/Redaction.ts"
import { isAmountName, isSecretName } from "../error/SecretNames.ts"
import { withVisible } from "../value/InvisibleText.ts"

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

/** The text redacted as it reads behind `before`, which a command line has before it. */
const redactBehind = (before: string, text: string): string => {
  const whole = redact(before + text)
  return before !== "" && whole.startsWith(before) && redact(before) === before
    ? whole.slice(before.length)
    : redact(text)
}

const short = (text: string, units_max: number, before = ""): string => {
  const clean = withVisible(redactBehind(before, truncateUnits(text, read_units_max)))
  const isCut = clean.length > units_max || text.length > read_units_max
  return isCut ? `${truncateUnits(clean, units_max)}…` : clean
}

/** The options with which one attempt at a summary is written. */
interface Style {
  readonly text_units_max: number
  /** Puts amounts first, so that a cut hides none. */
  readonly amountsFirst: boolean
}

/** The longest texts before an argument with which it is read. */
const before_units_max = 100

/** What a command line has before an argument: the program, and the argument before it, which may be a flag. */
const beforeOf = (items: ReadonlyArray<unknown>, at: number, program: string | undefined) =>
  [program ?? (at > 1 ? items[0] : undefined), at > 0 ? items[at - 1] : undefined]
    .filter((each) => typeof each === "string" && each.length <= before_units_max)
    .map((each) => `${String(each)} `)
    .join("")

const program_names: ReadonlyArray<string> = ["program", "command", "cmd", "executable"]

/** The program that a call runs, if it has one as a member of such a name. */
const programOf = (record: Record<string, unknown>): string | undefined =>
  program_names.map((name) => record[name]).find((value) => typeof value === "string")

/** Whether the member is the value of a secret that another member of the record names. */
const isNamedSecret = (record: Record<string, unknown>, name: string): boolean => {
  const given = record["name"] ?? record["key"]
  return name === "value" && typeof given === "string" && isSecretName(given, record["value"])
}

const shown = (
  value: unknown,
  depth: number,
  style: Style,
  name?: string,
  program?: string
): string => {
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
    const items = value
      .slice(0, items_max)
      .map((item, at) =>
        typeof item === "string" && name !== undefined && !isAmountName(name)
          ? JSON.stringify(short(item, style.text_units_max, beforeOf(value, at, program)))
          : shown(item, depth - 1, style, name)
      )
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
  const program = programOf(record)
  const isFirst = (name: string) => (isAmountName(name) ? 0 : 1)
  const sorted = style.amountsFirst ? names.toSorted((a, b) => isFirst(a) - isFirst(b)) : names
  const written = sorted.slice(0, members_max).map((name) => {
    const value = record[name]
    const text =
      isSecretName(name, value) || isNamedSecret(record, name)
        ? "[redacted]"
        : shown(value, depth, style, name, program)
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
