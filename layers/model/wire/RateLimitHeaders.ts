/**
 * Reads a provider's rate limits from the headers of an answer, and carries them from the client that sees the headers to the
 * limiter.
 */
import { Context } from "effect"

/** What is left of each limit, and in how many ms it is reset. Absent = the provider did not say. */
export interface StatedRateLimit {
  readonly tokens_left?: number | undefined
  readonly tokens_reset_ms?: number | undefined
  readonly requests_left?: number | undefined
  readonly requests_reset_ms?: number | undefined
}

/** The headers of an answer, with names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | undefined>>

/** Called with the headers of each answer, including failed ones. The gateway calls it and the limiter provides it. */
export const AnswerHeard = Context.Reference<(headers: AnswerHeaders) => void>(
  "troupe/layers/model/AnswerHeard",
  { defaultValue: () => () => {} }
)

const reset_ms_max = 3_600_000

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** `6m0s`, `20ms`, `1.5s`, a number of seconds, or an RFC 3339 time; at most an hour. `now` in ms since 1970. */
const resetMs = (text: string | undefined, now: number): number | undefined => {
  const trimmed = text?.trim() ?? ""
  if (trimmed === "") return undefined
  if (/^\d+(\.\d+)?$/.test(trimmed)) return bounded(Number(trimmed) * 1_000)
  if (/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(trimmed)) {
    let ms = 0
    for (const [, count, unit = ""] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
      ms += Number(count) * (units[unit] ?? 0)
    }
    return bounded(ms)
  }
  const date = Date.parse(trimmed)
  return Number.isNaN(date) ? undefined : bounded(date - now)
}

const bounded = (ms: number): number => Math.min(Math.max(0, Math.ceil(ms)), reset_ms_max)

const count = (text: string | undefined): number | undefined => {
  if (text === undefined || !/^\d{1,15}$/.test(text.trim())) return undefined
  return Number(text)
}

/** For each family of headers, the names of those that say what is left of a limit and when it is reset. */
const families: ReadonlyArray<(name: string) => readonly [left: string, reset: string]> = [
  (name) => [`x-ratelimit-remaining-${name}`, `x-ratelimit-reset-${name}`],
  (name) => [`anthropic-ratelimit-${name}-remaining`, `anthropic-ratelimit-${name}-reset`]
]

interface Left {
  readonly left: number
  readonly reset_ms: number | undefined
}

const least = (
  headers: AnswerHeaders,
  now: number,
  names: ReadonlyArray<string>
): Left | undefined => {
  let found: Left | undefined
  for (const family of families) {
    for (const name of names) {
      const [remaining, reset] = family(name)
      const left = count(headers[remaining])
      if (left === undefined || (found !== undefined && found.left <= left)) continue
      found = { left, reset_ms: resetMs(headers[reset], now) }
    }
  }
  return found
}

/** The limits in the known headers; undefined where none of them is present. */
export const statedRateLimit = (
  headers: AnswerHeaders,
  now: number
): StatedRateLimit | undefined => {
  const tokens = least(headers, now, ["tokens", "input-tokens", "output-tokens"])
  const requests = least(headers, now, ["requests"])
  return tokens === undefined && requests === undefined
    ? undefined
    : {
        tokens_left: tokens?.left,
        tokens_reset_ms: tokens?.reset_ms,
        requests_left: requests?.left,
        requests_reset_ms: requests?.reset_ms
      }
}
