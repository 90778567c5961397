/**
 * The body of a write whose tool has a `reconcile`: its dispatch is journaled like that of any other write, and where its
 * outcome is lost `reconcile` says what became of it, but not before the lost attempt is over. A call that did not happen is
 * sent again under the same key with a dispatch of its own; where `reconcile` cannot say, the outcome is unknown.
 */
import { Deferred, Effect, Exit } from "effect"
import { ToolTransientError } from "../../../src/error/ToolError.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { CallPhase } from "../../../src/run/RunState.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import { elapsedMs } from "../fiber/Periodic.ts"
import type { BodyRunner, DispatchedCall } from "./BodyRunner.ts"
import { withRedecodedArgs } from "./BodyRunner.ts"
import { dispatchRouteOf } from "./CallDigests.ts"
import type { AgentTool } from "./CallHost.ts"
import { bodyFinished, bodyOutcome, callLost } from "./CallOutcome.ts"
import {
  failedOutcome,
  isOutcomeLost,
  isOutcomeUnknowable,
  withPossibleSideEffect
} from "./FailedOutcome.ts"
import type { Reconciliation } from "./Reconciliation.ts"
import { attemptMs, dispatchGraceMs, waitUntilOver } from "./Reconciliation.ts"

/** How often one owner of the run sends a call that did not happen. */
const sends_max = 3
/** How often `reconcile` is called where it fails, and the first of the waits in between. */
const reconciles_max = 3
const reconcile_again_ms = 500

export const notDone = ({ spec }: AgentTool): ToolTransientError =>
  new ToolTransientError({
    kind: "external",
    reason: "NOT_DONE",
    message: `${spec.name} did not come through, and nothing was done.`
  })

const overAtOf = (phase: CallPhase): number =>
  phase._tag === "Dispatched" ? (phase.over_at ?? 0) : 0

type AttemptResult =
  /** The dispatch does not stand: nothing was done. */
  | { readonly _tag: "Refused" }
  /** The dispatch took too long, and no body began: the next owner of the run may already reconcile the call. */
  | { readonly _tag: "Late" }
  /** The attempt ended, and its exit says what it did. */
  | { readonly _tag: "Ended"; readonly exit: Exit.Exit<unknown, unknown> }
  /** The exit says nothing, but the attempt is over and cannot act any more: it may be reconciled. */
  | { readonly _tag: "Lost"; readonly over_at: number }
  /** The exit says nothing, and the tool cannot say more or the attempt may still act. */
  | { readonly _tag: "Unknown" }

/** One attempt behind its dispatch. Gives what is known of it, not before the attempt is over where its exit is lost. */
const attemptWrite = Effect.fnUntraced(function* (
  { clock, exitWithin, handled }: BodyRunner,
  body: DispatchedCall,
  isAgain: boolean
): Effect.fn.Return<AttemptResult, never, AgentMemory> {
  const { call, host, key, tool } = body
  const { timeout_ms } = tool.spec
  const dispatched_at = elapsedMs(clock)
  const over_at = Math.max(
    clock.currentTimeMillisUnsafe() + attemptMs(tool),
    overAtOf(host.call().phase) + 1
  )
  const isDispatched = yield* host.dispatch({
    _tag: "Dispatches",
    call,
    key,
    on_loss: "ask",
    tool: tool.key,
    over_at,
    ...dispatchRouteOf(tool),
    ...(isAgain ? { reconciled: true } : undefined)
  })
  if (!isDispatched) return { _tag: "Refused" }
  const began_at = elapsedMs(clock)
  const isLate = began_at - dispatched_at > dispatchGraceMs(tool)
  if (isLate || host.reservation?.isOver() === true) return { _tag: "Late" }
  const ended = Deferred.makeUnsafe<void>()
  const { body: context, effect } = handled(body, key, over_at)
  const attempt = Effect.onExit(effect, () =>
    Effect.sync(() => Deferred.doneUnsafe(ended, Exit.void))
  )
  const exit = yield* exitWithin(attempt, timeout_ms, context.fork)
  if (exit !== undefined) {
    if (Exit.isSuccess(exit) || !isOutcomeLost(exit.cause)) return { _tag: "Ended", exit }
    if (isOutcomeUnknowable(exit.cause)) return { _tag: "Unknown" }
  }
  // What was sent over a connection that was lost may still arrive.
  yield* Effect.sleep(Math.max(0, timeout_ms - (elapsedMs(clock) - began_at)))
  // A body may take its time over an interruption, and act meanwhile.
  const over = yield* Effect.timeoutOption(Deferred.await(ended), timeout_ms)
  return over._tag === "Some" ? { _tag: "Lost", over_at } : { _tag: "Unknown" }
})

/** What the tool says. Where `reconcile` fails it is called again, `reconciles_max` times in all. */
const reconcileRepeatedly = Effect.fnUntraced(function* (
  { reconcile }: BodyRunner,
  body: DispatchedCall,
  over_at: number
) {
  for (let tries = 1; ; tries++) {
    const found = yield* reconcile(body, over_at)
    if (found._tag !== "Unanswered" || tries === reconciles_max) return found
    yield* Effect.sleep(reconcile_again_ms * 4 ** (tries - 1))
  }
})

/** Gives the end of the call; undefined = its dispatch does not stand. */
export const writeReconcilably = Effect.fnUntraced(function* (
  runner: BodyRunner,
  given: DispatchedCall
): Effect.fn.Return<RunInput | undefined, never, AgentMemory> {
  const { host, tool } = given
  const { phase } = host.call()
  // Dispatched by an earlier owner: known by the key that it was sent with, whatever the tool would derive now.
  const isTakeover = phase._tag === "Dispatched" && phase.on_loss === "ask"
  const body = isTakeover ? { ...given, key: phase.key } : given
  const { call } = body
  const began_at = runner.clock.currentTimeMillisUnsafe()
  const ofOutcome = (outcome: Outcome): RunInput => ({
    ...bodyFinished(host, tool, call, outcome, began_at, runner.clock.currentTimeMillisUnsafe()),
    reconciled: true
  })
  /** Undefined = the call did not happen, and may be sent. */
  const ofReconciliation = (found: Reconciliation): RunInput | undefined =>
    found._tag === "NotHappened"
      ? undefined
      : found._tag === "Settled"
        ? ofOutcome(found.outcome)
        : callLost(host, call)
  if (isTakeover) {
    const over_at = overAtOf(phase)
    yield* waitUntilOver(tool, over_at)
    const found = yield* reconcileRepeatedly(runner, body, over_at)
    const end = ofReconciliation(found)
    if (end !== undefined) return end
  }
  for (let sends = 1; ; sends++) {
    const isAgain = isTakeover || sends > 1
    const sent = yield* attemptWrite(runner, sends === 1 ? body : withRedecodedArgs(body), isAgain)
    if (sent._tag === "Refused")
      return isAgain ? ofOutcome(failedOutcome(notDone(tool))) : undefined
    if (sent._tag === "Unknown") return callLost(host, call)
    if (sent._tag === "Ended") {
      return ofOutcome(withPossibleSideEffect(bodyOutcome(host, tool, sent.exit)))
    }
    if (sent._tag === "Lost") {
      const end = ofReconciliation(yield* reconcileRepeatedly(runner, body, sent.over_at))
      if (end !== undefined) return end
    }
    const isLast = sends === sends_max || runner.isStopped(host)
    if (isLast) return ofOutcome(failedOutcome(notDone(tool)))
  }
})
