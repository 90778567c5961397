/**
 * Whether a body that failed is tried again, and when: inside one call, for tools that declare a retry policy; the model
 * and the loop see one call. It is made only after a failure, so that a call that succeeds pays nothing for it.
 */
import type { Clock } from "effect"
import { Cause, Effect, Exit, Random } from "effect"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { failureOf, isToolError } from "../../../src/error/ToolError.ts"
import { isRetried, retryWaitMs } from "../../../src/tool/RetryPolicy.ts"
import type { ToolAttemptObserver } from "../../../services/ToolAttemptObserver.ts"
import type { AgentTool, CallHost } from "./CallHost.ts"
import { timeoutError } from "./FailedOutcome.ts"

export interface RetryServices {
  readonly clock: Clock.Clock
  /** Called with each attempt that failed in a way that the policy covers. Absent = none. */
  readonly attempted?: ReadonlyArray<ToolAttemptObserver>
  /** Has the kill switch been turned on meanwhile? Nothing more is sent then. Absent = there is no switch. */
  readonly isStopped?: (host: CallHost) => boolean
}

/** One attempt that did not succeed. */
interface FailedAttempt {
  /** From 1. */
  readonly attempt: number
  /** Undefined = the attempt ran out of time. */
  readonly exit: Exit.Exit<unknown, unknown> | undefined
  /** In ms since 1970. */
  readonly started_at: number
}

/** The attempt's failure; undefined for a defect or a failure of no class, which no policy covers. */
const toolErrorOf = (
  tool: AgentTool,
  exit: Exit.Exit<unknown, unknown> | undefined
): ToolError | undefined => {
  if (exit === undefined) return timeoutError(tool.spec.timeout_ms)
  if (Exit.isSuccess(exit)) return undefined
  const error = Cause.findErrorOption(exit.cause)
  return error._tag === "Some" && isToolError(error.value) ? error.value : undefined
}

/** Waits until the next attempt is due, and gives true; false at once where there is none, and after the wait where it is stopped. */
export const waitForRetry = Effect.fnUntraced(function* (
  { attempted = [], clock, isStopped }: RetryServices,
  { host, tool }: { readonly host: CallHost; readonly tool: AgentTool },
  { attempt, exit, started_at }: FailedAttempt
) {
  const { retry } = tool.spec
  const error = toolErrorOf(tool, exit)
  if (retry === undefined || error === undefined || !isRetried(retry, error)) return false
  const wait_ms =
    attempt < retry.max_attempts
      ? retryWaitMs(retry, attempt, error, yield* Random.next)
      : undefined
  if (attempted.length > 0) {
    const { arguments: args, id } = host.call()
    const fact = {
      run: host.run,
      call: id,
      tenant: host.accepted.tenant,
      trace_id: host.accepted.trace_id,
      agent_name: host.agent.spec.name,
      tool_name: tool.spec.name,
      arguments: args,
      attempt,
      error: failureOf(error),
      willRetry: wait_ms !== undefined,
      started_at,
      ended_at: clock.currentTimeMillisUnsafe()
    }
    for (const observe of attempted) observe(fact)
  }
  if (wait_ms === undefined) return false
  yield* Effect.sleep(wait_ms)
  return isStopped?.(host) !== true
})
