/**
 * How long a receiver wants to be left alone (RFC 9110, section 10.2.3).
 */
import { Duration, Result } from "effect"
import { Headers } from "effect/http"

/** Of a member that is absent where the header is, or cannot be read. */
export interface Wait {
  readonly retry_after_ms?: number
}

/** Longer than anybody waits; who retries has a bound of its own. */
const wait_max_ms = 86_400_000

/** Seconds or a date. `now`: ms since 1970. */
export const waitOf = (header: string | undefined, now: number): Wait => {
  const read = header === undefined ? undefined : Headers.parseRetryAfter(header)
  if (read === undefined || Result.isFailure(read)) return {}
  const wait_ms = Duration.toMillis(Headers.retryAfterDelay(read.success, now))
  return { retry_after_ms: Math.min(Math.ceil(wait_ms), wait_max_ms) }
}
