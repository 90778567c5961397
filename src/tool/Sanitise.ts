/**
 * Sanitises the model's copy of a text from outside: invisible characters and role markers are removed, and markup is escaped.
 * The journal keeps the original text.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import { bounds_carried, readJson } from "../value/BoundedJson.ts"
import { may_be_invisible, withoutInvisible } from "../value/InvisibleText.ts"
import { isRawNumber } from "../value/JsonNumber.ts"
import { any_marker, isMarkerEnd, markerBegin } from "./RoleMarkers.ts"

const piece_units = 8_192

const textOf = (units: Uint16Array): string => {
  let text = ""
  for (let from = 0; from < units.length; from += piece_units) {
    text += String.fromCharCode(...units.subarray(from, from + piece_units))
  }
  return text
}

/**
 * Removes markers, including those that the removal of another one creates. It takes one pass: at each unit that may end a marker,
 * the text kept so far is compared.
 */
const withoutMarkers = (text: string): string => {
  if (!any_marker.test(text)) return text
  const kept = new Uint16Array(text.length)
  let length = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    kept[length++] = unit
    if (isMarkerEnd(unit)) length = markerBegin(kept, length) ?? length
  }
  return textOf(kept.subarray(0, length))
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#x27;"
}

/**
 * Sanitises a plain text, such as a file's, without escaping markup, so that a model sees it unchanged otherwise. Half of a
 * surrogate pair becomes U+FFFD, because strict providers refuse every request that has one.
 */
export const sanitiseText = (text: string): string =>
  withoutMarkers(withoutInvisible(text)).toWellFormed()

const leaf = (text: string): string =>
  sanitiseText(text).replace(/[&<>"']/g, (character) => entities[character] ?? character)

/**
 * The members under sanitised names, which are not escaped. If two members would get the same name, both are kept: a name that
 * needed no change stays, and the others are numbered, as in `total (2)`.
 */
const named = (
  members: ReadonlyArray<readonly [string, Json]>
): ReadonlyArray<readonly [string, Json]> => {
  const clean = members.map(([given, member]) => ({ given, name: sanitiseText(given), member }))
  const kept = clean.filter(({ given, name }) => given === name)
  if (kept.length === members.length) return members
  const taken = new Set(kept.map(({ name }) => name))
  const numbers = new Map<string, number>()
  return clean.map(({ given, member, name }) => {
    if (name === given) return [name, member]
    let free = name
    for (let number = numbers.get(name) ?? 2; taken.has(free); number++) {
      free = `${name} (${number})`
      numbers.set(name, number + 1)
    }
    taken.add(free)
    return [free, member]
  })
}

const cleaned = (value: Json, text: (text: string) => string): Json => {
  if (typeof value === "string") return text(value)
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value
  if (Array.isArray(value)) return value.map((item: Json) => cleaned(item, text))
  // From entries, so that a member with the name `__proto__` stays a member.
  return Object.fromEntries(
    named(Object.entries(value)).map(([name, member]) => [name, cleaned(member, text)])
  )
}

/** Sanitises and escapes every text of a JSON value, at any depth. Names of members are sanitised but not escaped. */
export const sanitise = (value: Json): Json => cleaned(value, leaf)

/** Sanitises every text and name of a JSON value, at any depth, without escapes. */
export const sanitiseTexts = (value: Json): Json => cleaned(value, sanitiseText)

/** Matches a JSON text that may have to be sanitised. Most texts do not match, and are not parsed. */
const suspicious = new RegExp(
  `[&<>']|\\\\["bfu]|__system__|\\[/?(?:INST|SYSTEM|AVAILABLE|TOOL)|${may_be_invisible.source}`,
  "i"
)

/** ASCII characters that no match of `suspicious` begins with. */
const harmless = Uint8Array.from({ length: 128 }, (_, unit) => {
  const character = String.fromCharCode(unit)
  return "\\_[".includes(character) || suspicious.test(character) ? 0 : 1
})

/** Whether two characters look like the start of a match of `suspicious`. In JSON, a list seldom begins with a letter. */
const isBegin = (unit: number, next: number): boolean => {
  if (unit === 95) return next === 95
  return unit !== 91 || next === 47 || (next >= 65 && next <= 90) || (next >= 97 && next <= 122)
}

/** A quick check that runs before `suspicious`, which takes four times as long (bench row `step`). */
const mayBeSuspicious = (json: string): boolean => {
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at)
    if (harmless[unit] !== 1 && isBegin(unit, json.charCodeAt(at + 1))) return true
  }
  return false
}

/** As much of a result is sanitised: it is more than a model is shown of one. */
export const sanitised_units_max = 262_144

const asText = (json: string, texts: boolean): string => {
  const text = sanitiseText(json)
  return texts ? text : text.replace(/[&<>']/g, (character) => entities[character] ?? character)
}

/**
 * The sanitised form of an encoded result, for a model; the same text if there is nothing to do. Texts are escaped unless the
 * result is one plain text, or `texts` says that all texts in it are plain. A part of a result is no JSON, and is one text.
 */
export const cleanResult = (json: string, texts: boolean, isWhole = true): string => {
  if (!mayBeSuspicious(json) || !suspicious.test(json)) return json
  if (!isWhole) return asText(json, texts)
  const read = readJson(json, bounds_carried)
  // A result of before there were bounds may be too deep to walk: it is sanitised as a text.
  if (Result.isFailure(read)) return asText(json, texts)
  const value = read.success
  const clean = texts || typeof value === "string" ? sanitiseTexts(value) : sanitise(value)
  return JSON.stringify(clean)
}
