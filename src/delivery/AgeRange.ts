/**
 * The time range of a query for dead letters: an age (`24h` = the last 24 hours), or two times.
 */
import { Schema } from "effect"
import { spelled } from "../value/Bounds.ts"
import { isExistingTime } from "../value/Times.ts"

const minute_ms = 60_000
const day_ms = 24 * 60 * minute_ms
const unit_ms: ReadonlyMap<string, number> = new Map([
  ["m", minute_ms],
  ["h", 60 * minute_ms],
  ["d", day_ms],
  ["w", 7 * day_ms]
])

const Age = Schema.String.check(
  spelled(
    /^[1-9][0-9]{0,3}[mhdw]$/,
    "a number from 1 to 9999 and a unit (m, h, d or w), for example 24h"
  )
).annotate({ description: "The last so many minutes, hours, days or weeks: 30m, 24h, 7d, 2w." })

// A time without a zone would be another moment on a machine in another zone.
const isoPattern =
  /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

export const IsoTime = Schema.String.check(
  Schema.isPattern(isoPattern, {
    description:
      "an ISO 8601 date, or a date and time with a zone, for example 2026-11-22T09:30:00Z"
  }),
  Schema.makeFilter((text: string) => isExistingTime(text) || "a time that exists")
)

const Between = Schema.Struct({
  from: Schema.optionalKey(
    IsoTime.annotate({
      description: "At or after this ISO 8601 time, for example 2026-11-22T09:30:00Z."
    })
  ),
  to: Schema.optionalKey(
    IsoTime.annotate({
      description: "At or before this ISO 8601 time. A date alone includes the whole day (UTC)."
    })
  )
}).check(
  Schema.makeFilter(
    ({ from, to }) =>
      from === undefined ||
      to === undefined ||
      Date.parse(from) <= endOf(to) ||
      "from that is not after to"
  )
)

export const AgeRange = Schema.Union([Age, Between])
export type AgeRange = typeof AgeRange.Type

const endOf = (text: string): number => Date.parse(text) + (text.length === 10 ? day_ms - 1 : 0)

/** The bounds in ms since 1970, both inclusive; `now` in ms. */
export const boundsOf = (
  range: AgeRange,
  now: number
): { readonly from?: number; readonly to?: number } => {
  if (typeof range === "string") {
    return { from: now - Number(range.slice(0, -1)) * (unit_ms.get(range.slice(-1)) ?? 0) }
  }
  return {
    ...(range.from === undefined ? undefined : { from: Date.parse(range.from) }),
    ...(range.to === undefined ? undefined : { to: endOf(range.to) })
  }
}
