/**
 * The model's copy of a text from outside, cleaned: without characters that cannot be seen, without the markers by which
 * models tell a system's words from data, and with markup written out. The journal keeps the result as it came.
 */
import { Result } from "effect"
import type { Json } from "../Canonical.ts"
import { bounds_result, readJson } from "../entry/BoundedJson.ts"
import { may_be_invisible, withoutInvisible } from "./InvisibleText.ts"
import {
  any_marker,
  last_marker,
  marker_ends,
  marker_holds,
  marker_units_max
} from "./RoleMarkers.ts"

const low_marker = "__system__"

/** Where the marker begins that ends at the end of what was kept; undefined = none does. */
const markerAt = (kept: ReadonlyArray<string>): number | undefined => {
  if (kept.at(-1) === "_") {
    // Many may stand in a row: only the one marker that ends so is compared.
    const begins = kept.length - low_marker.length
    return kept.slice(-low_marker.length).join("").toLowerCase() === low_marker ? begins : undefined
  }
  const least = Math.max(0, kept.length - marker_units_max)
  let at = kept.length - 1
  // What closes a marker stands twice at the end of `<<SYS>>`.
  while (at > least && (marker_holds.test(kept[at - 1]!) || at === kept.length - 1)) at--
  const tail = kept.slice(at).join("")
  const found = last_marker.exec(tail)
  return found === null ? undefined : at + found.index
}

/**
 * Takes markers out, also those that only come about when another one is taken out. One pass: a marker is seen when its
 * last character comes, over what was kept before it.
 */
const withoutMarkers = (text: string): string => {
  if (!any_marker.test(text)) return text
  const kept: Array<string> = []
  for (const unit of text.split("")) {
    kept.push(unit)
    if (!marker_ends.has(unit)) continue
    const at = markerAt(kept)
    if (at !== undefined) kept.length = at
  }
  return kept.join("")
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#x27;"
}

/** A text of its own, such as a file's: nothing is escaped, because it would no longer be what it is (U11). */
export const sanitiseText = (text: string): string => withoutMarkers(withoutInvisible(text))

const leaf = (text: string): string =>
  sanitiseText(text).replace(/[&<>"']/g, (character) => entities[character]!)

/**
 * Members under their cleaned names, which are not escaped. Where two would have one name, both are kept: a name that was
 * clean keeps it, the others are numbered behind it, as in `total (2)`.
 */
const named = (
  members: ReadonlyArray<readonly [string, Json]>
): ReadonlyArray<readonly [string, Json]> => {
  const clean = members.map(([name]) => sanitiseText(name))
  if (members.every(([name], index) => name === clean[index])) return members
  const taken = new Set(clean.filter((name, index) => name === members[index]![0]))
  const numbers = new Map<string, number>()
  return members.map(([given, member], index) => {
    const name = clean[index]!
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
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map((item: Json) => cleaned(item, text))
  // Made from entries, so that a member called `__proto__` stays one.
  return Object.fromEntries(
    named(Object.entries(value)).map(([name, member]) => [name, cleaned(member, text)])
  )
}

/** Every text in a JSON value, at any depth, escaped; names of members are cleaned and not escaped (`named`). */
export const sanitise = (value: Json): Json => cleaned(value, leaf)

/** Texts in JSON and names of its members, at any depth, without escapes: they are what they are. */
export const sanitiseTexts = (value: Json): Json => cleaned(value, sanitiseText)

/** What a JSON text must hold for anything in it to be cleaned. Most hold nothing of it, and are not read. */
const suspicious = new RegExp(
  `[&<>']|\\\\["bfu]|__system__|\\[/?(?:INST|SYSTEM|AVAILABLE|TOOL)|${may_be_invisible.source}`,
  "i"
)

/** Beyond this a text is cleaned as it stands: nobody reads more of it than its beginning. */
const parsed_units_max = 262_144

const asText = (json: string, texts: boolean): string => {
  const text = sanitiseText(json)
  return texts ? text : text.replace(/[&<>']/g, (character) => entities[character]!)
}

/**
 * The cleaned form of an encoded result, for its model; the same text where there is nothing to clean. A result that is
 * one text is a text of its own; `texts` says that all texts in it are (U11).
 */
export const cleanResult = (json: string, texts: boolean): string => {
  if (!suspicious.test(json)) return json
  if (json.length > parsed_units_max) return asText(json, texts)
  const read = readJson(json, bounds_result)
  // It was written before there were bounds: what is too deep to be walked is cleaned as it stands.
  if (Result.isFailure(read)) return asText(json, texts)
  const value = read.success
  const clean = texts || typeof value === "string" ? sanitiseTexts(value) : sanitise(value)
  return JSON.stringify(clean)
}
