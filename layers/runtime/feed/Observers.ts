/**
 * What observers get of events once these are durable: completed calls, model turns, and what tools spent on models. Whoever
 * appends an event calls `OnDurable` with it, so that each event is observed once: the run's loop after its own appends, a
 * command after its amendment.
 */
import type { Clock } from "effect"
import { Cause, Effect, Predicate, Metric } from "effect"
import type { FrameId, RunId } from "../../../src/value/Ids.ts"
import { rootFrame } from "../../../src/value/Ids.ts"
import type { Amendment, RunNotFound } from "../../../src/run/RunCommand.ts"
import { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { ModelTurned, RunEvent } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import { frameOf } from "../../../src/run/RunState.ts"
import { toolCompletedOf } from "../../../src/tool/CallRecord.ts"
import { calls_unknown_total } from "../../../src/value/Telemetry.ts"
import type { RunJournal } from "../../../services/RunJournal.ts"
import { JournalError } from "../../../services/RunJournal.ts"
import type {
  ModelTurnObserver,
  ModelUsed,
  ToolCallObserver,
  RunObserver
} from "../../../services/RunObserver.ts"
import {
  ModelTurnObservers,
  ToolCallObservers,
  RunObservers
} from "../../../services/RunObserver.ts"
import { callCatching } from "../fiber/Catching.ts"
import { exceptionBehind } from "../tool/FailedOutcome.ts"
import type { ReportFault } from "../tool/FaultReport.ts"
import { exceptionOf } from "../tool/FaultReport.ts"

/** The same, and warns of each call that became unknown, and counts it: its run waits for an operator from then on. */
const observeUnknownCalls = (onDurable: OnDurable): Effect.Effect<OnDurable> =>
  Effect.map(Effect.context<never>(), (context): OnDurable => {
    const fork = Effect.runForkWith(context)
    return (run, state, events) => {
      onDurable(run, state, events)
      for (const event of events) {
        if (event._tag !== "CallUnknown") continue
        const tool = event.tool ?? ""
        Metric.withAttributes(calls_unknown_total, { tool }).updateUnsafe(1, context)
        const warned = Effect.logWarning(
          "the outcome of a call is unknown: an operator has to say what became of it"
        )
        const { tenant, trace_id } = state.accepted
        const about = { run_id: run, call_id: event.call, tool, tenant, trace_id }
        void fork(Effect.annotateLogs(warned, about))
      }
    }
  })

/** Called once after events of a run are durable, with the state after them. Never throws. */
export type OnDurable = (run: RunId, state: RunState, events: ReadonlyArray<RunEvent>) => void

/** One observer that throws is reported to operators; the others and the run go on. */
const notifyEach = <A>(
  observers: ReadonlyArray<(fact: A) => void>,
  fact: A,
  report: ReportFault
): void => {
  for (const observe of observers) {
    const left = callCatching(notify, observe, fact, Cause.die)
    if (left !== undefined) reportBroken(left, report)
  }
}

/** What is left of an observer's call: why it threw, or the promise that an `async` function gives. */
type ObserverResult = Cause.Cause<never> | PromiseLike<unknown>

const notify = <A>(observe: (fact: A) => unknown, fact: A): ObserverResult | undefined => {
  const given = observe(fact)
  return Predicate.isPromiseLike(given) ? given : undefined
}

/** Nobody waits for a promise, and its rejection is reported as what an observer throws is. */
const reportBroken = (left: ObserverResult, report: ReportFault): void => {
  const broke = (cause: Cause.Cause<never>) => report("an observer broke", exceptionOf(cause), {})
  if (Cause.isCause(left)) broke(left as Cause.Cause<never>)
  else void Promise.resolve(left).catch((defect: unknown) => broke(Cause.die(defect)))
}

/** Notifies observers of each call that has settled. */
export const observeCalls = (
  observers: ReadonlyArray<ToolCallObserver>,
  clock: Clock.Clock,
  report: ReportFault
): OnDurable =>
  observers.length === 0
    ? () => {}
    : (run, state, events) => {
        for (const event of events) {
          if (event._tag !== "CallSettled") continue
          // The clock is read only where the event has no time of its own.
          const now = event.ended_at ?? clock.currentTimeMillisUnsafe()
          const fact = toolCompletedOf(run, state, event, now)
          if (fact === undefined) continue
          const exception = exceptionBehind(event.outcome)
          notifyEach(observers, exception === undefined ? fact : { ...fact, exception }, report)
        }
      }

/** The same, and notifies observers of each model turn and of what tools spent on models. */
const observeTurns = (
  observers: ReadonlyArray<ModelTurnObserver>,
  onDurable: OnDurable,
  report: ReportFault
): OnDurable =>
  observers.length === 0
    ? onDurable
    : (run, state, events) => {
        onDurable(run, state, events)
        for (const [at, event] of events.entries()) {
          if (event._tag === "ModelTurned") {
            const where = usageSubjectOf(run, state, event.frame, events, at)
            notifyEach(observers, usedBy(where, event), report)
          } else if (event._tag === "CallSettled" || event._tag === "CallUnknown") {
            if (event.spent === undefined) continue
            const frame = state.calls.get(event.call)?.frame ?? rootFrame
            const where = usageSubjectOf(run, state, frame, events, at)
            const { tool, uses } = event.spent
            for (const use of uses) notifyEach(observers, { ...where, ...use, tool }, report)
          }
        }
      }

/** The same, and notifies observers of each event. */
export const observeRuns = (
  observers: ReadonlyArray<RunObserver>,
  onDurable: OnDurable,
  report: ReportFault
): OnDurable =>
  observers.length === 0
    ? onDurable
    : (run, state, events) => {
        onDurable(run, state, events)
        for (const event of events) notifyEach(observers, { run, state, event }, report)
      }

/** For the observers of the fiber that builds it. */
export const makeOnDurable = Effect.fnUntraced(function* (clock: Clock.Clock, report: ReportFault) {
  const calls = observeCalls(yield* ToolCallObservers, clock, report)
  const turns = observeTurns(yield* ModelTurnObservers, calls, report)
  return yield* observeUnknownCalls(observeRuns(yield* RunObservers, turns, report))
})

type UsageSubject = Pick<ModelUsed, "agent" | "run" | "tenant" | "trace_id">

/** Of a frame at an event. The state is that after all events, one of which may have handed the conversation over. */
const usageSubjectOf = (
  run: RunId,
  state: RunState,
  frame: FrameId,
  events: ReadonlyArray<RunEvent>,
  at: number
): UsageSubject => {
  const { tenant, trace_id } = state.accepted
  const handed =
    frame === rootFrame
      ? events.find((event, index) => index > at && event._tag === "HandedOff")
      : undefined
  const agent = handed?._tag === "HandedOff" ? handed.from : frameOf(state, frame).agent
  return { run, tenant, agent, trace_id }
}

const usedBy = (where: UsageSubject, { cost, model, usage }: ModelTurned): ModelUsed => ({
  ...where,
  ...(model === undefined ? undefined : { model }),
  ...(usage === undefined ? undefined : { usage }),
  ...(cost === undefined ? undefined : { cost })
})

/** Amends a run, and calls `onDurable` with the events of the amendment once they are durable. */
export const amend = <A, E>(
  journal: RunJournal["Service"],
  onDurable: OnDurable,
  run: RunId,
  command: (state: RunState, now: number) => Amendment<A, E>
): Effect.Effect<A, E | RunNotFound | RunQuarantined | JournalError> =>
  Effect.suspend(() => {
    let settled: { readonly state: RunState; readonly events: ReadonlyArray<RunEvent> } | undefined
    const amended = journal.amend(run, (state, now) => {
      const amendment = command(state, now)
      settled = { state, events: amendment.events }
      return amendment
    })
    const onEvents = () => {
      if (settled !== undefined) onDurable(run, settled.state, settled.events)
    }
    const observed = Effect.tapError(
      Effect.tap(amended, () => Effect.sync(onEvents)),
      (error) =>
        // A typed refusal may have appended too; a journal that failed appended nothing that it knows of.
        error instanceof JournalError || error instanceof RunQuarantined
          ? Effect.void
          : Effect.sync(onEvents)
    )
    // The caller may be interrupted, as a request is whose client hangs up: what is committed is observed all the same.
    return Effect.uninterruptible(observed)
  })
