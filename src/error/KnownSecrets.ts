/**
 * Secrets that are known by their text, such as a credential that was sent with a request: what comes back is shown without
 * them. Those that only their form gives away are found by `SecretShapes`.
 */
import type { Json } from "../value/Canonical.ts"
import { Result, Schema } from "effect"
import { mapLeaves } from "../value/JsonText.ts"

const mark = "[secret]"

/** A shorter text is replaced only where it is a word of its own: anywhere else it would garble texts. */
const units_anywhere = 6

const encoder = new TextEncoder()

/** The bytes as a text with a character for each. */
const binaryOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")

/** The bytes in lower-case hexadecimal digits. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

/**
 * What the base64 of any text has of this secret, whether its bytes begin a group of three there or one or two bytes later. The
 * characters at its ends hold bits of its neighbours, and are left out.
 */
const base64Forms = (secret: string): ReadonlyArray<string> => {
  const bytes = encoder.encode(secret)
  return [0, 1, 2].flatMap((before) => {
    const shifted = new Uint8Array(before + bytes.length)
    shifted.set(bytes, before)
    const begin = Math.ceil((before * 8) / 6)
    const inner = btoa(binaryOf(shifted)).slice(begin, Math.floor((shifted.length * 8) / 6))
    return [inner, inner.replaceAll("+", "-").replaceAll("/", "_")]
  })
}

/** As the inside of a JSON text: as JavaScript writes it, with `\/`, and in ASCII. */
export const jsonForms = (secret: string): ReadonlyArray<string> => {
  const inner = JSON.stringify(secret).slice(1, -1)
  const ascii = inner.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
  )
  return [inner, inner.replaceAll("/", "\\/"), ascii]
}

/** As part of a URL, of a form and of a path, with hexadecimal digits of either case. */
const urlForms = (secret: string): ReadonlyArray<string> => {
  const part = encodeURIComponent(secret)
  const strict = part.replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  )
  return [part, strict, strict.replaceAll("%20", "+"), encodeURI(secret)].flatMap((form) => [
    form,
    form.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())
  ])
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/**
 * Each secret in the forms in which a text may quote it: as it is, as JSON in JSON, in a URL, in HTML, and within the base64 or
 * the hex of a longer text. The longest first, so that none is found inside another.
 */
export const secretForms = (secrets: Iterable<string>): ReadonlyArray<string> => {
  const forms = new Set<string>()
  for (const given of secrets) {
    for (const secret of new Set([given, given.trim()])) {
      if (secret === "") continue
      const whole = secret.toWellFormed()
      for (const once of jsonForms(secret)) for (const twice of jsonForms(once)) forms.add(twice)
      for (const each of [secret, ...jsonForms(secret), ...urlForms(whole)]) forms.add(each)
      forms.add(secret.replace(/[&<>"']/g, (character) => entities[character] ?? character))
      // A few characters of base64 or hex are anybody's.
      if (secret.length < units_anywhere) continue
      const hex = hexOf(encoder.encode(secret))
      for (const each of [...base64Forms(secret), hex, hex.toUpperCase()]) forms.add(each)
    }
  }
  return [...forms].sort((a, b) => b.length - a.length)
}

/** The JSON with each of the secrets replaced, in names of members and among numbers too. */
export const withoutSecrets = (value: Json, secrets: ReadonlyArray<string>): Json => {
  if (secrets.length === 0) return value
  const leaf = (leaf: unknown): unknown => {
    if (typeof leaf === "string") return redacted(leaf, secrets)
    const isNumber = typeof leaf === "number" || (typeof leaf === "object" && leaf !== null)
    return isNumber && secrets.includes(JSON.stringify(leaf)) ? mark : leaf
  }
  const named = (object: object) =>
    Object.entries(object).map(([name, member]) => [redacted(name, secrets), member] as const)
  return mapLeaves(value, leaf, named) as Json
}

const isOfWord = (text: string, at: number): boolean => /[\p{L}\p{N}]/u.test(text.charAt(at))

/** Does a word go on at this place, with a letter or digit on both sides of it? */
const isWithin = (text: string, at: number): boolean => isOfWord(text, at - 1) && isOfWord(text, at)

/** The text without this word, where it begins and ends within no other. */
const withoutWord = (text: string, word: string): string => {
  let clean = ""
  let from = 0
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    if (isWithin(text, at) || isWithin(text, at + word.length)) continue
    clean += text.slice(from, at) + mark
    from = at + word.length
  }
  return clean + text.slice(from)
}

/** The text with each of the secrets replaced; one under 6 characters only where it is a word of its own. */
export const redacted = (text: string, secrets: ReadonlyArray<string>): string => {
  let clean = text
  for (const secret of secrets) {
    if (secret.length >= units_anywhere) clean = clean.replaceAll(secret, mark)
    else if (secret !== "") clean = withoutWord(clean, secret)
  }
  return clean
}

/** The shortest text that is listed, in UTF-16 units. Replacing shorter ones would garble other texts. */
const units_min = 6

const decodeBase64 = Schema.decodeUnknownResult(Schema.StringFromBase64)

/** The user and password that a credential of the scheme Basic encodes, and the password alone; empty for another scheme. */
const basicSecrets = (value: string): ReadonlyArray<string> => {
  const [, encoded] = /^basic\s+([A-Za-z0-9+/=]+)\s*$/i.exec(value) ?? []
  const pair = encoded === undefined ? undefined : decodeBase64(encoded)
  if (pair === undefined || Result.isFailure(pair)) return []
  return [pair.success, pair.success.slice(pair.success.indexOf(":") + 1)]
}

/**
 * The header's value and the credential after its scheme, for the scheme Basic also decoded, in each form in which an answer may
 * quote them.
 */
export const headerSecrets = (value: string): ReadonlyArray<string> => {
  const plain = [value, value.replace(/^\S+\s+/, ""), ...basicSecrets(value)]
  return secretForms(plain.filter(({ length }) => length >= units_min))
}
