/**
 * The body of a write or an external call: its dispatch is journaled before it runs. What became of a dispatch that is lost
 * is never guessed: an idempotent call is sent again under its key, any other is unknown.
 */
import { Effect, Exit, Result } from "effect"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { BodyRunner, DispatchedCall } from "./BodyRunner.ts"
import { killSwitchEnd, withRedecodedArgs } from "./BodyRunner.ts"
import { dispatchRouteOf } from "./CallDigests.ts"
import type { AgentTool, StartBody } from "./CallHost.ts"
import { bodyFinished, bodyOutcome, callFinished, callLost } from "./CallOutcome.ts"
import { failedOutcome, isOutcomeLost, withPossibleSideEffect } from "./FailedOutcome.ts"
import { hostValuesFor } from "./HostFilledValues.ts"
import { waitForRetry } from "./RetryDecision.ts"

/** How often an idempotent call is sent with its key before its outcome counts as unknown. */
const sends_max = 3

const write = Effect.fnUntraced(function* (
  runner: BodyRunner,
  body: DispatchedCall,
  on_loss: "again" | "unknown"
): Effect.fn.Return<RunInput | undefined, never, AgentMemory> {
  const { call, host, key, tool } = body
  const { retry, timeout_ms } = tool.spec
  const filling = yield* Effect.result(hostValuesFor(host, tool))
  if (Result.isFailure(filling)) return callFinished(call, failedOutcome(filling.failure))
  const filled = filling.success
  const stopped = killSwitchEnd(runner, host, call)
  if (stopped !== undefined) return stopped
  const isDispatched = yield* host.dispatch({
    _tag: "Dispatches",
    call,
    key,
    on_loss,
    ...dispatchRouteOf(tool),
    ...(filled === undefined ? undefined : { filled }),
    ...(on_loss === "again" ? { tool: tool.key } : undefined)
  })
  if (!isDispatched) return undefined
  const began_at = runner.clock.currentTimeMillisUnsafe()
  let started_at = began_at
  for (let attempt = 1; ; attempt++) {
    const sent = attempt === 1 ? body : withRedecodedArgs(body)
    const handled = runner.handled(sent, key)
    const exit = yield* runner.exitWithin(handled.effect, timeout_ms, handled.body.fork)
    if (retry !== undefined && (exit === undefined || Exit.isFailure(exit))) {
      if (yield* waitForRetry(runner, body, { attempt, exit, started_at })) {
        started_at = runner.clock.currentTimeMillisUnsafe()
        continue
      }
    }
    if (exit !== undefined && !(Exit.isFailure(exit) && isOutcomeLost(exit.cause))) {
      const outcome = withPossibleSideEffect(bodyOutcome(host, tool, exit))
      const ended_at = runner.clock.currentTimeMillisUnsafe()
      return bodyFinished(host, tool, call, outcome, began_at, ended_at)
    }
    const isLast = attempt === sends_max || runner.isStopped?.(host) === true
    if (on_loss === "unknown" || retry !== undefined || isLast) return callLost(host, call)
  }
})

/** Starts the writes of one tool. */
export const make =
  (runner: BodyRunner, tool: AgentTool, on_loss: "again" | "unknown"): StartBody =>
  (host, call, args) => ({
    effect: Effect.flatMap(runner.keyOf(host, call, tool), (key) =>
      write(runner, { host, call, tool, args, key }, on_loss)
    )
  })
