/**
 * Removes secrets and personal data from texts for approvers, for models that read errors and notes, and for logs, spans
 * and dead letters. Patterns are matched on the text as a reader sees it (NFKC, without invisible characters); everything
 * else is returned unchanged.
 *
 * Not redacted: digits that fail the check of a card or an IBAN, plain numbers, dates, UUIDs, and SHA-256 and SHA-512
 * digests.
 */
import { truncateUnits } from "../value/CutText.ts"
import { isAddress } from "../network/Address.ts"
import { withoutInvisible } from "../value/InvisibleText.ts"
import { cardNumbers, phoneNumbers } from "./PersonalNumbers.ts"
import { commandSecrets, secret_shapes, webhook } from "./SecretShapes.ts"
import { ibanPlans } from "./NumberPlans.ts"
import { isSecretName, foreign_phrases } from "./SecretNames.ts"
import type { TextPlace } from "./PersonalNumbers.ts"

/** How much of a text is read, in UTF-16 units; the rest is cut off and marked. */
export const read_units_max = 16_000
const cut_mark = "…"

type Label = "[secret]" | "[e-mail]" | "[card]" | "[iban]" | "[ip]" | "[phone]"

interface Span extends TextPlace {
  readonly label: Label
}

/** A normalized text with the position of each of its units in the original. */
interface Folded {
  readonly text: string
  /** Undefined = every position is the same in both. */
  readonly positions: ReadonlyArray<number> | undefined
}

const isDigit = (code: number): boolean => /\p{Nd}/u.test(String.fromCodePoint(code))

/** The decimal digit of any script as 0 to 9. Unicode has the digits of a script in order, from zero on. */
const asciiDigit = (digit: string): string => {
  const code = digit.codePointAt(0) ?? 0
  let zero = code
  while (isDigit(zero - 1)) zero--
  return String((code - zero) % 10)
}

const normalized = (character: string): string =>
  withoutInvisible(character === "\u200c" || character === "\u200d" ? "" : character)
    .normalize("NFKC")
    .replace(/(?![0-9])\p{Nd}/gu, asciiDigit)

const folded = (text: string): Folded => {
  // oxlint-disable-next-line no-control-regex -- the pattern describes ASCII
  if (/^[\n\r\t\u0020-\u007e]*$/.test(text)) return { text, positions: undefined }
  let read = ""
  const positions: Array<number> = []
  let position = 0
  const known = new Map<string, string>()
  for (const character of text) {
    let plain = known.get(character)
    if (plain === undefined) {
      plain = normalized(character)
      known.set(character, plain)
    }
    for (let i = 0; i < plain.length; i++) positions.push(position)
    read += plain
    position += character.length
  }
  positions.push(position)
  return { text: read, positions }
}

const matches = (
  text: string,
  pattern: RegExp,
  label: Label,
  is: (found: string) => boolean = () => true
): ReadonlyArray<Span> =>
  [...text.matchAll(pattern)].flatMap((match) =>
    is(match[0]) ? [{ from: match.index, to: match.index + match[0].length, label }] : []
  )

/** Begins only at the beginning of a word: tried at each letter of a long word, it would take quadratic time. */
const email = /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}.-]{1,253}\.\p{L}{2,63}/gu
/** The user and the password of a URL. */
const userinfo = /(?<=\b[a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/?#@"'<>]{1,400}(?=@)/gi
/** A quotation mark: also in JSON in JSON, in HTML and in the value of a URL. */
const quote = "(?:\\\\{0,16}[\"']|\\\\{1,16}u002[27]|&quot;|&apos;|&#3[49];|%2[27])"
/** A name before its value; the value is read only where `isSecretName` holds for the name. */
const pair = new RegExp(
  `(?:(?<![\\p{L}\\p{M}\\p{N}_.-])${quote}?|%2[27])([\\p{L}_][\\p{L}\\p{M}\\p{N}_.-]{0,63})${quote}?\\s{0,4}(?:[:=]{1,3}>?|->|%3[ad])\\s{0,4}(?=[^\\s,;&(){}[\\]]|&(?:quot|apos|#3[49]);)`,
  "giu"
)
/**
 * The value behind such a name: in quotation marks, the first of which ends it too, or up to white space or punctuation. It ends
 * early, because it may contain another pair: `Error: password=...`.
 */
const value_of_pair = new RegExp(
  `(?<open>${quote})(?<quoted>(?:(?!(?<!\\\\)\\k<open>)(?:\\\\[^]|[^])){1,1000})|(?<bare>(?:bearer |basic )?[^\\s"',;&(){}[\\]]{1,1000})`,
  "iuy"
)
/** A member or attribute that names the secret, and one behind it that has its value. */
const named_value = new RegExp(
  `(?<![\\p{L}\\p{N}_])${quote}?(?:name|key|id|field|header)${quote}?\\s{0,4}[:=]\\s{0,4}${quote}?([\\p{L}_][\\p{L}\\p{M}\\p{N}_.-]{0,63})${quote}?[\\s,;]{1,40}(?:-\\s{0,4})?${quote}?value${quote}?\\s{0,4}[:=]\\s{0,4}(?=[^\\s,;(){}[\\]])`,
  "giu"
)
/** The content of an XML element, also in escaped XML. */
const element =
  /(?:<|&lt;)(?:[\p{L}_][\p{L}\p{N}_.-]{0,63}:)?([\p{L}_][\p{L}\p{M}\p{N}_.-]{0,63})(?:\s[^<>]{0,400}?)?(?:>|&gt;)\s{0,40}(?:<!\[CDATA\[)?([^<]{1,4000}?)(?=<|&lt;|\]\]>|$)/giu
/** A password in a sentence. */
const spelled_out = new RegExp(
  `(?:(?<![\\p{L}\\p{M}\\p{N}])(?:password|passphrase|passcode|pwd|pin code|api key|secret key)|(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}])(?:${foreign_phrases}))\\s{0,4}(?:(?<=\\s)(?:is|was|are|ist|lautet|est|es|son|é|è|e|jest|to|je|är|er|on|ole|este|είναι|это|є|هو|هي|है|adalah|ialah|là)(?=\\s)|[:=]{1,3}>?|—|–|は|が|是|为|為|은|는|이|가)\\s{0,4}${quote}?([^\\s"',;\\\\]{1,400})`,
  "giu"
)
/** A long run of mixed letters and digits. */
const long = /(?<![\w-])(?=[\w-]{0,255}\d)(?=[\w-]{0,255}[A-Za-z])[\w-]{32,}(?![\w-])/g
const harmless = /^(?:[0-9a-f]{64}|[0-9a-f]{128}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i

const inGroup = (
  text: string,
  pattern: RegExp,
  is: (match: RegExpExecArray) => string | undefined
) =>
  [...text.matchAll(pattern)].flatMap((match): ReadonlyArray<Span> => {
    const value = is(match)
    if (value === undefined) return []
    const from = match.index + match[0].lastIndexOf(value)
    return [{ from, to: from + value.length, label: "[secret]" }]
  })

/** The values behind the names of secrets that the pattern finds. What is part of one that was found is not read again. */
const valuesBehind = (text: string, pattern: RegExp): ReadonlyArray<Span> => {
  const found: Array<Span> = []
  let read_to = 0
  for (const { 0: read, 1: name = "", index } of text.matchAll(pattern)) {
    if (index < read_to || !isSecretName(name)) continue
    value_of_pair.lastIndex = index + read.length
    const { bare, quoted } = value_of_pair.exec(text)?.groups ?? {}
    const value = quoted ?? bare
    const isSecret =
      value !== undefined &&
      isSecretName(name, /^\d{1,15}$/.test(value) ? Number(value) : value) &&
      value !== "true" &&
      value !== "false"
    if (!isSecret) continue
    read_to = value_of_pair.lastIndex
    found.push({ from: read_to - value.length, to: read_to, label: "[secret]" })
  }
  return found
}

const labelled = (places: ReadonlyArray<TextPlace>, label: Label): ReadonlyArray<Span> =>
  places.map((place) => ({ ...place, label }))

const secrets = (text: string, names: ReadonlyArray<string>): ReadonlyArray<Span> => [
  ...secret_shapes.flatMap((pattern) => matches(text, pattern, "[secret]")),
  ...matches(text, userinfo, "[secret]", (found) => found.includes(":")),
  ...inGroup(text, webhook, ([, rest]) => rest),
  ...labelled(commandSecrets(text), "[secret]"),
  ...valuesBehind(text, pair),
  ...valuesBehind(text, named_value),
  ...inGroup(text, element, ([, name = "", value]) => (isSecretName(name) ? value : undefined)),
  ...inGroup(text, spelled_out, ([, value]) => value),
  ...matches(text, long, "[secret]", (found) => !harmless.test(found) && !names.includes(found))
]

const iban = /(?<![\p{L}\p{N}])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}/giu

/** An IBAN has the length that its country prescribes; characters behind it may belong to the next word. */
const ibans = (text: string): ReadonlyArray<Span> =>
  [...text.matchAll(iban)].flatMap((match): ReadonlyArray<Span> => {
    const { countrySpecs, isValidIBAN } = ibanPlans()
    const wanted =
      countrySpecs[match[0].slice(0, 2).toUpperCase() as keyof typeof countrySpecs]?.chars
    let held = ""
    let length = 0
    for (const character of match[0]) {
      if (held.length === wanted) break
      length++
      if (character !== " " && character !== "-") held += character.toUpperCase()
    }
    const [from, to] = [match.index, match.index + length]
    const goesOn = /[\p{L}\p{N}]/u.test(text[to] ?? "")
    return held.length === wanted && !goesOn && isValidIBAN(held)
      ? [{ from, to, label: "[iban]" }]
      : []
  })

const four = /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)/g
const six = /(?<![\w:.])(?=[0-9a-f:.]{0,45}\d)[0-9a-f]{0,4}(?::[0-9a-f.]{0,15}){2,8}(?![\w:])/gi

/** National phone numbers with a trunk prefix 0. */
const national =
  /(?<![\p{L}\p{N}.,+-])(?:\(0?\d{1,5}\)[ ./-]?|0\d{1,4}[ /-])\d{2,5}(?:[ -]?\d{2,5}){0,3}(?![\p{L}\p{N}-]|[.,]\d)/gu
const date = /^\d{4}-\d\d-\d\d/

const phones = (text: string): ReadonlyArray<Span> => [
  ...labelled(phoneNumbers(text), "[phone]"),
  ...matches(text, national, "[phone]", (each) => {
    const { length } = each.replace(/\D/g, "")
    return length >= 7 && length <= 15 && !date.test(each)
  })
]

/** The spans in order of position; overlapping ones are merged under the label of the one that was found first. */
const merged = (spans: ReadonlyArray<Span>): ReadonlyArray<Span> => {
  const kept: Array<Span & { readonly rank: number }> = []
  const ranked = spans.map((span, rank) => ({ ...span, rank })).sort((a, b) => a.from - b.from)
  for (const span of ranked) {
    const before = kept.at(-1)
    if (before === undefined || span.from >= before.to) kept.push(span)
    else {
      const { label, rank } = before.rank < span.rank ? before : span
      kept[kept.length - 1] = { from: before.from, to: Math.max(before.to, span.to), label, rank }
    }
  }
  return kept
}

/** E-mail addresses outside of secrets: the password and the host of a URL are not one. */
const emails = (text: string, held: ReadonlyArray<Span>): ReadonlyArray<Span> =>
  matches(text, email, "[e-mail]").filter(
    ({ from, to }) => !held.some((span) => span.from < to && from < span.to)
  )

const found = (text: string, names: ReadonlyArray<string>): ReadonlyArray<Span> => {
  const held = secrets(text, names)
  return merged([
    ...held,
    ...emails(text, held),
    ...labelled(cardNumbers(text), "[card]"),
    ...ibans(text),
    ...matches(text, four, "[ip]", isAddress),
    ...matches(text, six, "[ip]", isAddress),
    ...phones(text)
  ])
}

/** The longest incomplete word that is cut off, in UTF-16 units. */
const word_units_max = 4_000

/** Where the last complete word ends: the one that was cut may be half a secret, which no pattern matches. */
const wordsEnd = (text: string, cut: number): number => {
  let end = cut
  while (end > cut - word_units_max && /\S/.test(text.charAt(end - 1))) end--
  return end
}

const marked = /^\[(?:secret|e-mail|card|iban|ip|phone|address|path|redacted)\]/

/**
 * The text with secrets and personal data replaced by `[secret]`, `[e-mail]`, `[card]`, `[iban]`, `[ip]` or `[phone]`.
 * `names` are names of tools, which the reader knows: a long one with digits in it would otherwise be taken for a secret.
 */
export const redact = (text: string, names: ReadonlyArray<string> = []): string => {
  const isLong = text.length > read_units_max
  const read = isLong ? truncateUnits(text, wordsEnd(text, read_units_max)) : text
  const { positions, text: plain } = folded(read)
  let clean = ""
  let done = 0
  for (const { from, label, to } of found(plain, names)) {
    const [begins, ends] = [positions?.[from] ?? from, positions?.[to] ?? to]
    if (marked.test(plain.slice(from))) continue
    clean += read.slice(done, begins) + label
    done = ends
  }
  clean += read.slice(done)
  return isLong ? clean + cut_mark : clean
}
