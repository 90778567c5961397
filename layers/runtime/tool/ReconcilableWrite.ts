/**
 * Runs the body of a write whose tool can be asked what became of it: behind its journaled dispatch like any other, and
 * where that is lost the tool is asked, not before the lost attempt is over. What it says did not happen is sent again
 * under the same key and a dispatch of its own; what nobody can say is unknown.
 */
import { Deferred, Effect, Exit } from "effect"
import type { Clock } from "effect"
import { ToolTransientError } from "../../../src/error/ToolError.ts"
import type { CallId } from "../../../src/Ids.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { CallPhase } from "../../../src/run/RunState.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import { bodyFinished } from "./CallOutcome.ts"
import { withSpending } from "./CallSpending.ts"
import { dispatchRouteOf } from "./CallDigests.ts"
import type { CallHost, AgentTool } from "./CallHost.ts"
import {
  withPossibleSideEffect,
  failedOutcome,
  isOutcomeLost,
  isOutcomeUnknowable
} from "./Failures.ts"
import type { Reconciliation } from "./Reconciliation.ts"

export interface ReconcilableCall {
  readonly host: CallHost
  readonly call: CallId
  readonly tool: AgentTool
  readonly args: unknown
  readonly key: string
}

/** What the runner of bodies does for this one. */
export interface Services {
  readonly clock: Clock.Clock
  /** One attempt: its exit, or undefined when its time is over. `ended` is told when its fiber is, which may be later. */
  readonly attempt: (
    body: ReconcilableCall,
    over_at: number,
    ended: () => void
  ) => Effect.Effect<Exit.Exit<unknown, unknown> | undefined, never, AgentMemory>
  readonly outcomeOf: (
    host: CallHost,
    tool: AgentTool,
    exit: Exit.Exit<unknown, unknown>
  ) => Outcome
  /** One question, bounded by the tool's timeout. */
  readonly ask: (
    body: ReconcilableCall,
    over_at: number
  ) => Effect.Effect<Reconciliation, never, AgentMemory>
}

/** How often a call that did not happen is sent, for one owner of its run. */
const sends_max = 3
/** How often a question is put that comes to nothing, and the first of the waits in between. */
const asks_max = 3
const ask_again_ms = 500
/** How long the journal may take over a dispatch before its body is not begun any more. */
const dispatch_ms_max = 5_000

const undone = ({ spec }: AgentTool): ToolTransientError =>
  new ToolTransientError({
    kind: "external",
    reason: "NOT_DONE",
    message: `${spec.name} did not come through, and nothing was done.`
  })

const graceOf = ({ spec }: AgentTool): number => Math.min(spec.timeout_ms, dispatch_ms_max)

/** The key under which an older owner dispatched it, and was not heard of since. */
const leftKey = (phase: CallPhase): string | undefined =>
  phase._tag === "Dispatched" && phase.on_loss === "ask" ? phase.key : undefined

const overAt = (phase: CallPhase): number =>
  phase._tag === "Dispatched" ? (phase.over_at ?? 0) : 0

type Sent =
  /** The dispatch does not stand: nothing was done. */
  | "refused"
  /** It stands too late for a body to begin: whoever owns the run next may ask already. */
  | "late"
  /** Nobody knows what it did, and nobody has to be asked. */
  | "unknown"
  /** `isOver`: the attempt's fiber has ended, so that it cannot act any more. */
  | {
      readonly exit: Exit.Exit<unknown, unknown> | undefined
      readonly isOver: boolean
      readonly over_at: number
    }

export const make = ({ ask, attempt, clock, outcomeOf }: Services) => {
  const now = () => clock.currentTimeMillisUnsafe()
  /** Of the clock that nobody sets. */
  const elapsed = () => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000

  const send = Effect.fnUntraced(function* (
    body: ReconcilableCall,
    isAgain: boolean
  ): Effect.fn.Return<Sent, never, AgentMemory> {
    const { call, host, key, tool } = body
    const { timeout_ms } = tool.spec
    const from = elapsed()
    const over_at = Math.max(now() + graceOf(tool) + timeout_ms, overAt(host.call().phase) + 1)
    const stands = yield* host.dispatch({
      _tag: "Dispatches",
      call,
      key,
      on_loss: "ask",
      tool: tool.key,
      over_at,
      ...dispatchRouteOf(tool),
      ...(isAgain ? { asked: true } : undefined)
    })
    if (!stands) return "refused"
    const begins = elapsed()
    if (begins - from > graceOf(tool)) return "late"
    const ended = Deferred.makeUnsafe<void>()
    const exit = yield* attempt(body, over_at, () => Deferred.doneUnsafe(ended, Exit.void))
    if (exit !== undefined && !(Exit.isFailure(exit) && isOutcomeLost(exit.cause))) {
      return { exit, isOver: true, over_at }
    }
    if (exit !== undefined && isOutcomeUnknowable(exit.cause)) return "unknown"
    // A connection that was lost may still carry what was sent.
    yield* Effect.sleep(Math.max(0, timeout_ms - (elapsed() - begins)))
    // A body may take its time over an interruption, and act meanwhile.
    const over = yield* Effect.timeoutOption(Deferred.await(ended), timeout_ms)
    return { exit: undefined, isOver: over._tag === "Some", over_at }
  })

  const answered = Effect.fnUntraced(function* (body: ReconcilableCall, over_at: number) {
    for (let asks = 1; ; asks++) {
      const found = yield* ask(body, over_at)
      if (found._tag !== "Unasked" || asks === asks_max) return found
      yield* Effect.sleep(ask_again_ms * 4 ** (asks - 1))
    }
  })

  /** Until what an older owner sent is over, and never longer than it could take: clocks differ. */
  const untilOver = ({ host, tool }: ReconcilableCall) =>
    Effect.suspend(() => {
      const most = graceOf(tool) + tool.spec.timeout_ms
      return Effect.sleep(Math.min(Math.max(overAt(host.call().phase) - now(), 0), most))
    })

  return Effect.fnUntraced(function* (
    given: ReconcilableCall
  ): Effect.fn.Return<RunInput | undefined, never, AgentMemory> {
    const { call, host, tool } = given
    const left = leftKey(host.call().phase)
    // What was sent is known by the key that it was sent with, whatever the tool would derive now.
    const body = left === undefined ? given : { ...given, key: left }
    const began = now()
    const lost = (): RunInput =>
      withSpending<Extract<RunInput, { readonly _tag: "Lost" }>>(host, { _tag: "Lost", call })
    const ended = (outcome: Outcome): RunInput => {
      const input = bodyFinished(host, tool, call, outcome, began, now())
      return input._tag === "Finished" ? { ...input, asked: true } : input
    }
    /** What the tool says, as the call's end; undefined = nothing was done. */
    const said = (found: Reconciliation): RunInput | undefined =>
      found._tag === "NotHappened"
        ? undefined
        : found._tag === "Settled"
          ? ended(found.outcome)
          : lost()
    if (left !== undefined) {
      yield* untilOver(body)
      const end = said(yield* answered(body, overAt(host.call().phase)))
      if (end !== undefined) return end
    }
    for (let sends = 1; ; sends++) {
      const isAgain = left !== undefined || sends > 1
      const sent = yield* send(body, isAgain)
      if (sent === "refused") return isAgain ? ended(failedOutcome(undone(tool))) : undefined
      if (sent === "unknown") return lost()
      if (sent !== "late") {
        const { exit, isOver, over_at } = sent
        if (exit !== undefined) return ended(withPossibleSideEffect(outcomeOf(host, tool, exit)))
        if (!isOver) return lost()
        const end = said(yield* answered(body, over_at))
        if (end !== undefined) return end
      }
      if (sends === sends_max) return ended(failedOutcome(undone(tool)))
    }
  })
}
