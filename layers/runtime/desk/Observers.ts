/**
 * Tells observers of completed calls and of model turns. Whoever appends a `CallSettled` tells of it, so that each is told of once: the
 * run's loop of its own appends, and a command of those it made.
 */
import { Cause, Effect } from "effect"
import type { Clock } from "effect"
import type { Spending } from "../../../src/cost/Spending.ts"
import type { RunId } from "../../../src/Ids.ts"
import type { Amendment, RunNotFound } from "../../../src/run/RunCommand.ts"
import { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import { completed } from "../../../src/tool/ToolCallMetadata.ts"
import type { RunJournal } from "../../../services/RunJournal.ts"
import { JournalError } from "../../../services/RunJournal.ts"
import type { ModelTurnObserver, ModelUsed } from "../../../services/ModelTurnObserver.ts"
import { ModelTurnObservers } from "../../../services/ModelTurnObserver.ts"
import type { ToolCallObserver } from "../../../services/ToolCallObserver.ts"
import { ToolCallObservers } from "../../../services/ToolCallObserver.ts"
import { attempt } from "../tool/Catching.ts"
import { exceptionIn } from "../tool/Failures.ts"
import type { Report } from "../tool/Faults.ts"
import { exceptionOf } from "../tool/Faults.ts"
import { unknownTeller } from "./UnknownCalls.ts"

export type Tell = (run: RunId, state: RunState, events: ReadonlyArray<RunEvent>) => void

/** Tells each; one that throws is said to operators, and takes nothing from the others, nor from the run. */
const tellEach = <A>(
  observers: ReadonlyArray<(fact: A) => void>,
  fact: A,
  report: Report
): void => {
  for (const observe of observers) {
    const thrown = attempt(told, observe, fact, Cause.die)
    if (thrown !== undefined) report("an observer broke", exceptionOf(thrown), {})
  }
}

const told = <A>(observe: (fact: A) => void, fact: A): Cause.Cause<never> | undefined => {
  observe(fact)
  return undefined
}

export const teller = (
  observers: ReadonlyArray<ToolCallObserver>,
  clock: Clock.Clock,
  report: Report
): Tell =>
  observers.length === 0
    ? () => {}
    : (run, state, events) => {
        for (let i = 0; i < events.length; i++) {
          const event = events[i]!
          if (event._tag !== "CallSettled") continue
          // The clock is asked only where the event has no time of its own.
          const now = event.ended_at ?? clock.currentTimeMillisUnsafe()
          const fact = completed(run, state, event, now)
          if (fact === undefined) continue
          const exception = exceptionIn(event.outcome)
          tellEach(observers, exception === undefined ? fact : { ...fact, exception }, report)
        }
      }

/** Tells observers of model turns too, and of what tools spent on models; where there are none, it is the other alone. */
const turnTeller = (
  observers: ReadonlyArray<ModelTurnObserver>,
  tell: Tell,
  report: Report
): Tell =>
  observers.length === 0
    ? tell
    : (run, state, events) => {
        tell(run, state, events)
        for (const event of events) {
          if (event._tag === "ModelTurned") tellEach<ModelUsed>(observers, event, report)
          else if (event._tag === "CallSettled" || event._tag === "CallUnknown") {
            if (event.spent !== undefined) tellSpent(observers, event.spent, report)
          }
        }
      }

/** Both, over the observers that there are where it is made. */
export const tellerOf = Effect.fnUntraced(function* (clock: Clock.Clock, report: Report) {
  const calls = teller(yield* ToolCallObservers, clock, report)
  return yield* unknownTeller(turnTeller(yield* ModelTurnObservers, calls, report))
})

const tellSpent = (
  observers: ReadonlyArray<ModelTurnObserver>,
  { tool, uses }: Spending,
  report: Report
) => {
  for (const use of uses) tellEach<ModelUsed>(observers, { ...use, tool }, report)
}

/** Amends a run, and tells of the calls that the amendment settled once it is durable. */
export const amend = <A, E>(
  journal: RunJournal["Service"],
  tell: Tell,
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
    const toldOf = () => {
      if (settled !== undefined) tell(run, settled.state, settled.events)
    }
    const told = Effect.tapError(
      Effect.tap(amended, () => Effect.sync(toldOf)),
      (error) =>
        // A typed refusal may have appended too; a journal that failed appended nothing that it knows of.
        error instanceof JournalError || error instanceof RunQuarantined
          ? Effect.void
          : Effect.sync(toldOf)
    )
    // Whoever asked may leave, as a request does whose client hangs up: what is committed is told of all the same.
    return Effect.uninterruptible(told)
  })
