/**
 * How often the executor may try a call again, below the agent: the loop itself never does. One logical call, whatever
 * its attempts: one approval, one record of it. The numbers are SemStreams' (`tool_retries`).
 */
import { Schema } from "effect"
import type { ToolError } from "../error/ToolError.ts"
import { ToolErrorKind } from "../error/ToolError.ts"

/** A policy that is complete. The wait before attempt n+1 is `backoffMs(policy, n)`. */
export const RetryPolicy = Schema.Struct({
  /** The first call counts; 1 = never again. */
  max_attempts: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })),
  backoff_initial_ms: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600_000 })),
  backoff_max_ms: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600_000 })),
  /** Only failures of these kinds are tried again; none = no failure is. */
  retry_on_kinds: Schema.Array(ToolErrorKind)
})
export interface RetryPolicy extends Schema.Schema.Type<typeof RetryPolicy> {}

/** What an author or a configuration says; what is left out is the default. */
export type RetryConfig = Partial<RetryPolicy>

export const no_retry: RetryPolicy = {
  max_attempts: 1,
  backoff_initial_ms: 100,
  backoff_max_ms: 2_000,
  retry_on_kinds: ["timeout", "external", "network"]
}

const positive = (ms: number | undefined, otherwise: number): number =>
  ms !== undefined && ms > 0 ? ms : otherwise

/** The complete policy. Attempts below 1 are 1, a wait that is not positive is the default; an empty list is kept. */
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

/** May a call that failed so be tried again, if attempts are left? By its kind alone, as SemStreams does. */
export const isRetried = (
  policy: Pick<RetryPolicy, "retry_on_kinds">,
  error: Pick<ToolError, "kind">
): boolean => policy.retry_on_kinds.includes(error.kind)

/**
 * The wait in ms after the failed attempt `attempt`, from half of the back-off to all of it, as `chance` from 0 to 1
 * says, so that those who failed together do not come back together. Never before the other side said; undefined if that
 * is later than the policy waits.
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
