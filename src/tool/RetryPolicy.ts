/**
 * How often the runtime may retry a call by itself. The model and the loop see one call with one approval, however many attempts
 * it took. The default numbers are SemStreams' (`tool_retries`).
 */
import { Schema } from "effect"
import type { ToolError } from "../error/ToolError.ts"
import { ToolErrorKind } from "../error/ToolError.ts"
import { between } from "../value/Bounds.ts"

/** A complete policy. The wait before attempt n+1 follows from `backoffMs(policy, n)`. */
export class RetryPolicy extends Schema.Opaque<RetryPolicy>()(
  Schema.Struct({
    /** The greatest number of attempts, the first one included, 1 to 100; 1 = no retry. Absent = 1. */
    max_attempts: between(1, 100),
    /** The wait after the first failed attempt, in ms, 1 to an hour; it doubles with each further one. Absent = 100. */
    backoff_initial_ms: between(1, 3_600_000),
    /** The longest wait, in ms, 1 to an hour. An error that asks for a longer one is not retried. Absent = 2,000. */
    backoff_max_ms: between(1, 3_600_000),
    /** Only failures of these kinds are retried; an empty list = none. Absent = `timeout`, `external` and `network`. */
    retry_on_kinds: Schema.Array(ToolErrorKind)
  })
) {}

/** A policy as an author or a configuration declares it. Absent members have their defaults. */
export type RetryConfig = Partial<RetryPolicy>

export const no_retry: RetryPolicy = {
  max_attempts: 1,
  backoff_initial_ms: 100,
  backoff_max_ms: 2_000,
  retry_on_kinds: ["timeout", "external", "network"]
}

const positive = (ms: number | undefined, otherwise: number): number =>
  ms !== undefined && ms > 0 ? ms : otherwise

/**
 * Completes a policy. `max_attempts` below 1 becomes 1, and a wait that is not positive becomes the default. An empty
 * `retry_on_kinds` is kept.
 */
export const retryPolicyOf = (config: RetryConfig): RetryPolicy => ({
  max_attempts: Math.max(1, config.max_attempts ?? 1),
  backoff_initial_ms: positive(config.backoff_initial_ms, no_retry.backoff_initial_ms),
  backoff_max_ms: positive(config.backoff_max_ms, no_retry.backoff_max_ms),
  retry_on_kinds: config.retry_on_kinds ?? no_retry.retry_on_kinds
})

/**
 * The wait in ms after the failed attempt number `attempt`, which counts from 1. It doubles each time, up to `backoff_max_ms`.
 */
export const backoffMs = (
  policy: Pick<RetryPolicy, "backoff_initial_ms" | "backoff_max_ms">,
  attempt: number
): number => Math.min(policy.backoff_initial_ms * 2 ** (attempt - 1), policy.backoff_max_ms)

/** Whether a failure is retried if attempts are left. As in SemStreams, only its kind decides. */
export const isRetried = (
  policy: Pick<RetryPolicy, "retry_on_kinds">,
  error: Pick<ToolError, "kind">
): boolean => policy.retry_on_kinds.includes(error.kind)

/**
 * The wait in ms after the failed attempt number `attempt`. It is between half of the back-off (`chance` = 0) and all of it
 * (`chance` = 1), so that calls that failed together are not repeated together, and at least the error's `retry_after_ms`.
 * Undefined if `retry_after_ms` is longer than the policy waits.
 */
export const retryWaitMs = (
  policy: Pick<RetryPolicy, "backoff_initial_ms" | "backoff_max_ms">,
  attempt: number,
  error: ToolError,
  chance: number
): number | undefined => {
  const asked = (error._tag === "ToolTransientError" ? error.retry_after_ms : undefined) ?? 0
  if (asked > policy.backoff_max_ms) return undefined
  return Math.max(Math.ceil(backoffMs(policy, attempt) * (0.5 + chance / 2)), asked)
}
