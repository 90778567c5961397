/** How the console writes times, lengths of time and ids. */
import type { Html } from "./Html.ts"
import { element } from "./Html.ts"

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000]
] as const

/** A length of time in ms with at most two units, such as `3 min` or `2 d 4 h`; below 10 s with tenths. */
export const duration = (ms: number): string => {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  const first = units.findIndex(([, size]) => ms >= size)
  const [unit, size] = units[first] ?? units[3]
  const rest = units[first + 1]
  const count = Math.floor(ms / size)
  const more = rest === undefined ? 0 : Math.floor((ms - count * size) / rest[1])
  return rest === undefined || more === 0 || size <= 60_000
    ? `${count} ${unit}`
    : `${count} ${unit} ${more} ${rest[0]}`
}

/** The last moment that has a date in JavaScript; the first one is as far before 1970. */
const time_max = 8_640_000_000_000_000

/** The moment as a text, such as `2026-11-30T14:18:43.000Z`. */
export const isoOf = (at: number): string =>
  new Date(Math.max(-time_max, Math.min(at, time_max))).toISOString()

/** A moment beside now, with the whole time where a mouse rests on it. Times are in ms since 1970. */
export const moment = (at: number, now: number): Html => {
  const iso = isoOf(at)
  const words = at > now ? `in ${duration(at - now)}` : `${duration(now - at)} ago`
  return element("time", { datetime: iso, title: iso }, words)
}

/** The time of day in UTC, to the second, with the whole time where a mouse rests on it. */
export const clock = (at: number): Html => {
  const iso = isoOf(at)
  return element("time", { datetime: iso, title: iso }, iso.slice(11, 19))
}

/** The beginning of an id, with all of it where a mouse rests on it. */
export const shortId = (id: string): Html =>
  element(
    "span",
    { class: "id", title: id },
    id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id
  )
