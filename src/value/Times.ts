/**
 * Time values in options. A name that ends in `_ms` says what a plain number means. In data, such as an agent's definition, a
 * journal or a request, the value is always that number; options in code also accept a Duration or a text.
 */
import { Duration, Option, Result } from "effect"

/** A number of milliseconds, a Duration, or a text such as `"5 minutes"`. */
export type Time = number | Duration.Duration | Extract<Duration.Input, `${number} ${string}`>

/** Options in which the members whose names end in `_ms` accept a `Time`. */
export type Timed<Options> = Options extends object
  ? {
      readonly [Name in keyof Options]: Name extends `${string}_ms`
        ? TimeFor<Options[Name]>
        : Options[Name]
    }
  : Options

type TimeFor<Member> = Member extends number ? Time : Member

/** The error message that says which times are accepted, between two numbers of milliseconds. */
export const expectedTime = (minimum: number, maximum: number): string =>
  `Expected a time from ${minimum} to ${maximum} ms: whole milliseconds, a Duration, or a text such as "5 minutes"`

/**
 * Converts a time into whole milliseconds, rounded up. A value that is not a time is returned unchanged, for the decoder to
 * refuse.
 */
export const milliseconds = (time: unknown): unknown => {
  if (typeof time !== "string" && !Duration.isDuration(time)) return time
  const read = Duration.fromInput(time as Duration.Input)
  return Option.isSome(read) ? Math.ceil(Duration.toMillis(read.value)) : time
}

const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

const converted = (value: unknown, depth: number): unknown => {
  if (depth === 0) return value
  if (Array.isArray(value)) {
    const items: ReadonlyArray<unknown> = value
    const copies = items.map((item) => converted(item, depth - 1))
    return copies.every((copy, i) => copy === items[i]) ? value : copies
  }
  if (!isPlain(value)) return value
  const members = Object.entries(value)
  const copies = members.map(([name, member]): [string, unknown] => [
    name,
    name.endsWith("_ms") ? milliseconds(member) : converted(member, depth - 1)
  ])
  return copies.every(([, copy], i) => copy === members[i]?.[1])
    ? value
    : Object.fromEntries(copies)
}

/**
 * Converts the times in options into numbers; returns the same object if all of them are numbers already. `levels` is how many
 * levels of objects and lists may contain times (1 = only the options' own members). Deeper levels are data of others, such as
 * schemas.
 */
export const inMilliseconds = <Plain>(options: Timed<Plain>, levels = 1): Plain =>
  // What cannot be read is refused where it is decoded.
  Result.getOrElse(
    Result.try(() => converted(options, levels)),
    () => options
  ) as Plain

/**
 * Whether a time in ISO 8601 exists: `Date.parse` takes February 30 for March 2.
 */
export const isExistingTime = (text: string): boolean => {
  const date = text.slice(0, 10)
  const day = new Date(`${date}T00:00:00Z`)
  return (
    !Number.isNaN(Date.parse(text)) &&
    !Number.isNaN(day.getTime()) &&
    day.toISOString().startsWith(date)
  )
}

/** The first and last moments of days with four digits of a year, in ms since 1970. */
const [day_first, day_last] = [-62_167_219_200_000, 253_402_300_799_999]

/** The day of a moment in UTC, such as `2026-11-30`. */
export const dayOf = (at: number): string =>
  new Date(Math.max(day_first, Math.min(at, day_last))).toISOString().slice(0, 10)
