/**
 * How long a run has been at work, and the alarm when `wall_ms_max` has passed. The time in which it waited only for
 * people does not count; all other time since its acceptance does, also that in which no process had it.
 */
import { Effect } from "effect"
import type { Clock } from "effect"
import type { RunId } from "../../../src/Ids.ts"
import { maxOf } from "../../../src/run/RunBreach.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import { evolve, isParkable, make as emptyState } from "../../../src/run/RunState.ts"
import type { JournalError, RunJournal } from "../../../services/RunJournal.ts"
import type { Deadlines } from "../tool/Deadlines.ts"

export interface Services {
  readonly journal: RunJournal["Service"]
  readonly deadlines: Deadlines
  readonly clock: Clock.Clock
}

export interface WallTime {
  /** Looks at the state again: an extension moves the alarm, and while only people are waited for there is none. */
  readonly look: (state: RunState) => void
  readonly stop: () => void
}

const page_max = 10_000

/** What the journal says: the time up to its last entry, and when that was. */
const elapsed = Effect.fnUntraced(function* (journal: RunJournal["Service"], run: RunId) {
  const state = emptyState()
  let worked = 0
  let last: number | undefined
  for (;;) {
    const page = yield* journal.read(run, state.length, page_max)
    for (const { at, event } of page) {
      if (last !== undefined && !isParkable(state)) worked += Math.max(0, at - last)
      last = at
      evolve(state, event)
    }
    if (page.length < page_max) return { worked, last, counts: !isParkable(state) }
  }
})

/** Reads the run from its begin; only for a run that has such a bound. */
export const make = Effect.fnUntraced(function* (
  { clock, deadlines, journal }: Services,
  run: RunId,
  ring: () => void
): Effect.fn.Return<WallTime, JournalError | RunQuarantined> {
  const { counts, last, worked } = yield* elapsed(journal, run)
  const now = () => clock.currentTimeMillisUnsafe()
  let spent = worked
  /** Since when time counts; undefined while it does not. */
  let since = counts ? last : undefined
  let cancel: (() => void) | undefined
  let due: number | undefined
  const disarm = () => {
    cancel?.()
    cancel = undefined
    due = undefined
  }
  return {
    look: (state) => {
      const working = state.ended === undefined && !isParkable(state)
      if (!working) {
        if (since !== undefined) spent += Math.max(0, now() - since)
        since = undefined
        return disarm()
      }
      since ??= now()
      if (state.used.timed_out || state.stopping !== undefined) return disarm()
      const at = since + maxOf(state, "wall_ms_max") - spent
      if (at === due) return
      disarm()
      due = at
      cancel = deadlines.after(Math.max(0, at - now()), ring)
    },
    stop: disarm
  }
})
