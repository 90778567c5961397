/**
 * How often the runtime may try a call again inside one call: the model and the loop see one call with one approval, whatever
 * its attempts. The default numbers are SemStreams' (`tool_retries`).
 */
import { Schema } from "effect"
import type { ToolError } from "../error/ToolError.ts"
import { ToolErrorKind } from "../error/ToolError.ts"

/** A complete policy. The wait before attempt n+1 follows from `backoffMs(policy, n)`. */
export const RetryPolicy = Schema.Struct({
  /** Attempts in all; 1 = no retry. */
  max_attempts: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })),
  backoff_initial_ms: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600_000 })),
  backoff_max_ms: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600_000 })),
  /** Only failures of these kinds are retried; an empty list = none. */
  retry_on_kinds: Schema.Array(ToolErrorKind)
})
export interface RetryPolicy extends Schema.Schema.Type<typeof RetryPolicy> {}

/** A policy as an author or a configuration declares it; members that are left out have the default. */
export type RetryConfig = Partial<RetryPolicy>

export const no_retry: RetryPolicy = {
  max_attempts: 1,
  backoff_initial_ms: 100,
  backoff_max_ms: 2_000,
  retry_on_kinds: ["timeout", "external", "network"]
}

const positive = (ms: number | undefined, otherwise: number): number =>
  ms !== undefined && ms > 0 ? ms : otherwise

/** The complete policy. Attempts below 1 become 1, a wait that is not positive becomes the default; an empty list is kept. */
export const retryPolicyOf = (config: RetryConfig): RetryPolicy => ({
  max_attempts: Math.max(1, config.max_attempts ?? 1),
  backoff_initial_ms: positive(config.backoff_initial_ms, no_retry.backoff_initial_ms),
  backoff_max_ms: positive(config.backoff_max_ms, no_retry.backoff_max_ms),
  retry_on_kinds: config.retry_on_kinds ?? no_retry.retry_on_kinds
})

/** The wait in ms after the failed attempt `attempt`, which counts from 1: doubled each time, up to the cap. */
export const backoffMs = (
  policy: Pick<RetryPolicy, "backoff_initial_ms" | "backoff_max_ms">,
  attempt: number
): number => Math.min(policy.backoff_initial_ms * 2 ** (attempt - 1), policy.backoff_max_ms)

/** Is a failure of this kind retried, if attempts are left? As in SemStreams, its kind alone decides. */
export const isRetried = (
  policy: Pick<RetryPolicy, "retry_on_kinds">,
  error: Pick<ToolError, "kind">
): boolean => policy.retry_on_kinds.includes(error.kind)

/**
 * The wait in ms after the failed attempt `attempt`: from half of the back-off (`chance` = 0) to all of it (1), so that calls
 * that failed together are not sent again together. At least the error's `retry_after_ms`; undefined where that is longer
 * than the policy waits.
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
