/**
 * Whether a body that failed is tried again, and when: below the agent, inside one call, for tools that declare it. It is
 * asked only after a failure, so that a call that succeeds pays nothing for it.
 */
import { Cause, Effect, Exit, Random } from "effect"
import type { Clock } from "effect"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { failureOf, isToolError } from "../../../src/error/ToolError.ts"
import { isRetried, retryWaitMs } from "../../../src/tool/RetryPolicy.ts"
import type { ToolAttemptObserver } from "../../../services/ToolAttemptObserver.ts"
import type { CallHost, AgentTool } from "./CallHost.ts"
import { timeoutError } from "./Failures.ts"

export interface RetryServices {
  readonly clock: Clock.Clock
  /** Absent = nobody is told. */
  readonly attempted?: ReadonlyArray<ToolAttemptObserver>
}

/** What a body said or its deadline; a defect or a failure of no class is nothing that a policy could cover. */
const typed = (
  tool: AgentTool,
  exit: Exit.Exit<unknown, unknown> | undefined
): ToolError | undefined => {
  if (exit === undefined) return timeoutError(tool.spec.timeout_ms)
  if (Exit.isSuccess(exit)) return undefined
  const error = Cause.findErrorOption(exit.cause)
  return error._tag === "Some" && isToolError(error.value) ? error.value : undefined
}

/**
 * Waits for the next attempt and answers true, or answers false at once: the attempt was the last one. `exit` undefined =
 * it was out of time.
 */
export const waitForRetry = Effect.fnUntraced(function* (
  { attempted = [], clock }: RetryServices,
  host: CallHost,
  tool: AgentTool,
  attempt: number,
  exit: Exit.Exit<unknown, unknown> | undefined,
  started_at: number
) {
  const { retry } = tool.spec
  const error = typed(tool, exit)
  if (retry === undefined || error === undefined || !isRetried(retry, error)) return false
  const wait =
    attempt < retry.max_attempts
      ? retryWaitMs(retry, attempt, error, yield* Random.next)
      : undefined
  if (attempted.length > 0) {
    const fact = {
      run: host.run,
      call: host.call().id,
      tenant: host.accepted.tenant,
      trace_id: host.accepted.trace_id,
      agent_name: host.agent.spec.name,
      tool_name: tool.spec.name,
      arguments: host.call().arguments,
      attempt,
      error: failureOf(error),
      again: wait !== undefined,
      started_at,
      ended_at: clock.currentTimeMillisUnsafe()
    }
    for (const tell of attempted) tell(fact)
  }
  if (wait === undefined) return false
  yield* Effect.sleep(wait)
  return true
})
