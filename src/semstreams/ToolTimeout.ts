/**
 * A tool's timeout as SemStreams' configuration writes it: a Go duration such as `30s`, `500ms` or `1m30s`.
 */
import { Result } from "effect"
import { timeout_ms_default } from "../tool/ToolSpec.ts"

const nanoseconds: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["µs", 1_000n],
  ["μs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n]
])

const part = /(?:(\d+)(?:\.(\d*))?|\.(\d+))(ns|us|µs|μs|ms|s|m|h)/y
/** Go keeps a duration in 64 bits. */
const most = 2n ** 63n - 1n

/**
 * Parses a Go duration (an optional sign, then numbers with a unit each, or a plain zero) into nanoseconds; undefined = it is
 * not a duration.
 */
const parse = (text: string): bigint | undefined => {
  const negative = text.startsWith("-")
  const rest = negative || text.startsWith("+") ? text.slice(1) : text
  if (rest === "0") return 0n
  if (rest === "" || rest.length > 64) return undefined
  let total = 0n
  part.lastIndex = 0
  for (let at = 0; at < rest.length; at = part.lastIndex) {
    const found = part.exec(rest)
    if (found === null) return undefined
    const [, whole = "0", after, only, unit = ""] = found
    const fraction = only ?? after ?? ""
    const scale = nanoseconds.get(unit)
    if (scale === undefined) return undefined
    total +=
      BigInt(whole) * scale + (BigInt(`0${fraction}`) * scale) / 10n ** BigInt(fraction.length)
  }
  return total > most ? undefined : negative ? -total : total
}

/**
 * The duration in whole ms, rounded up, at least 1. Fails with a text that says what is wrong. Null or undefined = the default
 * of 60,000.
 */
export const timeoutMs = (value: unknown): Result.Result<number, string> => {
  if (value === null || value === undefined) return Result.succeed(timeout_ms_default)
  if (value === "") return Result.fail("timeout is required")
  if (typeof value !== "string") return Result.fail("timeout must be a text such as 30s")
  const duration = parse(value)
  if (duration === undefined) {
    return Result.fail(
      `timeout is not a duration such as 30s: ${JSON.stringify(value.slice(0, 64))}`
    )
  }
  if (duration <= 0n) return Result.fail("timeout must be positive")
  return Result.succeed(Number((duration + 999_999n) / 1_000_000n))
}
