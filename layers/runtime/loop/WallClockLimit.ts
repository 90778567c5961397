/**
 * How long a run has been at work, and the timer of its `wall_ms_max`. Time in which the run waits only for people does not
 * count. All other time since its acceptance does, also time in which no process had it.
 */
import { maxOf } from "../../../src/run/RunBreach.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import type { FoldState, RunState } from "../../../src/run/RunState.ts"
import { isParkable } from "../../../src/run/RunState.ts"
import type { LoopServices } from "./LoopServices.ts"

type Services = Pick<LoopServices, "clock" | "deadlines">

export type WallClockLimit = ReturnType<typeof make>

interface Worked {
  readonly state: RunState
  /** Up to the last entry of its journal. */
  readonly worked_ms: number
  /** When that entry was appended, in ms since 1970; undefined = time counts from now on. */
  readonly last_append_at: number | undefined
}

/** How long a run has been at work up to the last entry of its journal, from what a fold sees of each entry. */
export class WorkedTime {
  /** In ms. */
  worked_ms = 0
  /** Of the last entry, in ms since 1970. */
  last: number | undefined

  /** `state` is the fold of the entries before this one. */
  pass(state: FoldState, { at }: JournalEntry) {
    if (this.last !== undefined && !isParkable(state)) this.worked_ms += Math.max(0, at - this.last)
    this.last = at
  }
}

/** Only for a run that has such a bound. Time counts from `last_append_at` on. */
export const make = (
  { clock, deadlines }: Services,
  { last_append_at, state, worked_ms }: Worked,
  wake: () => void
) => {
  const now = () => clock.currentTimeMillisUnsafe()
  let spent = worked_ms
  /** Since when time counts; undefined while it does not. */
  let since = isParkable(state) ? undefined : last_append_at
  let cancel: (() => void) | undefined
  let due: number | undefined
  const disarm = () => {
    cancel?.()
    cancel = undefined
    due = undefined
  }
  return {
    /** Sets the timer by the state: an extension moves it, and while the run waits only for people there is none. */
    check: (state: RunState): void => {
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
      cancel = deadlines.after(Math.max(0, at - now()), wake)
    },
    /** How long the run has been at work until now, in ms. */
    worked: (): number => (since === undefined ? spent : spent + Math.max(0, now() - since)),
    stop: disarm
  }
}
