/**
 * Times as programs give them. A name that ends in `_ms` says what a plain number means. In data, such as an agent's definition, a
 * journal or a request, it is always that number; options of code take a Duration or a text in its place.
 */
import { Duration, Option, Result } from "effect"

/** Milliseconds, a Duration, or a text such as `"5 minutes"`. */
export type Time = number | Duration.Duration | Extract<Duration.Input, `${number} ${string}`>

/** Options whose members that end in `_ms` take a `Time`. */
export type Timed<Options> = Options extends object
  ? {
      readonly [Name in keyof Options]: Name extends `${string}_ms`
        ? TimeFor<Options[Name]>
        : Options[Name]
    }
  : Options

type TimeFor<Member> = Member extends number ? Time : Member

/** What is expected of a time between two numbers of milliseconds. */
export const expectedTime = (minimum: number, maximum: number): string =>
  `Expected a time from ${minimum} to ${maximum} ms: whole milliseconds, a Duration, or a text such as "5 minutes"`

/** Whole milliseconds, rounded up. What is no time is given as it is, for a reader to refuse. */
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
 * Options with times as numbers; the same object where all of them are. `levels`: how many objects and lists deep there are times,
 * 1 = its own members. Below stand other people's data, such as schemas.
 */
export const inMilliseconds = <Plain>(options: Timed<Plain>, levels = 1): Plain =>
  // What cannot be read is refused where it is decoded.
  Result.getOrElse(
    Result.try(() => converted(options, levels)),
    () => options
  ) as Plain
