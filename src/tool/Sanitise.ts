/**
 * The model's copy of a tool's result, cleaned: without control characters, without the markers by which some models tell
 * a system's words from data, and with markup written out. The journal keeps the result as it came.
 */
import type { Json } from "../Canonical.ts"

/** All but tab, line feed and carriage return. */
// oxlint-disable-next-line no-control-regex -- control characters are what is taken out here
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

const markers: ReadonlyArray<string> = ["__system__", "<|im_start|>", "<|im_end|>"]
const any_marker = /__system__|<\|im_(?:start|end)\|>/i

/**
 * Takes markers out, also those that only come about when another one is taken out. One pass: a marker is seen when its
 * last character comes, over what was kept before it.
 */
const withoutMarkers = (text: string): string => {
  if (!any_marker.test(text)) return text
  const kept: Array<string> = []
  for (const unit of text.split("")) {
    kept.push(unit)
    if (unit !== "_" && unit !== ">") continue
    for (const marker of markers) {
      if (kept.slice(-marker.length).join("").toLowerCase() !== marker) continue
      kept.length -= marker.length
      break
    }
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
export const sanitiseText = (text: string): string => withoutMarkers(text.replace(controls, ""))

const leaf = (text: string): string =>
  sanitiseText(text).replace(/[&<>"']/g, (character) => entities[character]!)

/** Every text in a JSON value, at any depth; names of members are left as they are. */
export const sanitise = (value: Json): Json => {
  if (typeof value === "string") return leaf(value)
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map((item: Json) => sanitise(item))
  // Made from entries, so that a member called `__proto__` stays one.
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, sanitise(member)]))
}
