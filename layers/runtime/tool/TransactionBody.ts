/**
 * The body of a transactional write: it runs inside the journal's transaction, and its writes, its dispatch and its result
 * commit together or not at all.
 */
import { Cause, Effect, Exit } from "effect"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { BodyRunner, DispatchedCall } from "./BodyRunner.ts"
import type { AgentTool, CallHost, StartBody } from "./CallHost.ts"
import { bodyFinished, bodyOutcome, reportOutcomeFault } from "./CallOutcome.ts"
import { outcomeOfCause, timeoutError } from "./FailedOutcome.ts"

/** A result that the output schema or the size limit refuses, as the failure that rolls the transaction back. */
class RefusedResult {
  readonly outcome: Outcome
  constructor(outcome: Outcome) {
    this.outcome = outcome
  }
}

const outcomeOfExit = (
  host: CallHost,
  tool: AgentTool,
  exit: Exit.Exit<Outcome, unknown>
): Outcome => {
  if (Exit.isSuccess(exit)) return exit.value
  const error = Cause.findErrorOption(exit.cause)
  return error._tag === "Some" && error.value instanceof RefusedResult
    ? error.value.outcome
    : reportOutcomeFault(host, tool, outcomeOfCause(exit.cause))
}

const transact = ({ clock, handled }: BodyRunner, body: DispatchedCall) => {
  const { call, host, key, tool } = body
  const { timeout_ms } = tool.spec
  const started_at = clock.currentTimeMillisUnsafe()
  const { body: within, effect } = handled(body, key)
  // Its statements go through the transaction, which is part of the fiber's context.
  const settled = Effect.flatMap(Effect.provideContext(effect, within.context), (result) => {
    const outcome = bodyOutcome(host, tool, Exit.succeed(result))
    return outcome._tag === "Value"
      ? Effect.succeed<Outcome>(outcome)
      : Effect.fail(new RefusedResult(outcome))
  })
  // A timeout waits for the interruption: no statement of the body may reach the transaction after its end.
  const bounded = Effect.timeoutOrElse(settled, {
    duration: timeout_ms,
    orElse: () => Effect.fail(timeoutError(timeout_ms))
  })
  return Effect.as(
    host.transact(key, bounded, (exit) => {
      const outcome = outcomeOfExit(host, tool, exit)
      const ended_at = clock.currentTimeMillisUnsafe()
      return bodyFinished(host, tool, call, outcome, started_at, ended_at)
    }),
    undefined
  )
}

/** Starts the transactional writes of one tool. */
export const make =
  (runner: BodyRunner, tool: AgentTool): StartBody =>
  (host, call, args) => ({
    effect: Effect.flatMap(runner.keyOf(host, call, tool), (key) =>
      transact(runner, { host, call, tool, args, key })
    )
  })
