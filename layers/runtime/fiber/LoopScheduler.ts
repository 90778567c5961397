/**
 * Bounds how many loops of a runtime go on in one turn of the event loop. A thousand model turns that end at one moment would
 * otherwise hold it until all of them are decided, and with it every request and timer of the process (bench row
 * `concurrent`, event-loop lag).
 */
import { Context, Effect } from "effect"
import type { Scope } from "effect"

export interface ScheduledLoop {
  /** Goes on, unless it has gone on by then for another reason. */
  resume(): void
}

export interface LoopScheduler {
  /** Resumes the loop: at once, or in one of the next turns of the event loop, behind those that wait already. */
  readonly schedule: (loop: ScheduledLoop) => void
  /** How many loops wait for a turn. */
  readonly waiting: () => number
}

export const loops_per_turn = 128

/** `per_turn`: at least 1. Loops that wait when the scope closes are never resumed. */
export const make = Effect.fnUntraced(function* (
  per_turn: number
): Effect.fn.Return<LoopScheduler, never, Scope.Scope> {
  const waiting: Array<ScheduledLoop> = []
  let left = per_turn
  let wake: ((go: Effect.Effect<void>) => void) | undefined

  // A loop that was scheduled between the last turn and this sleep found nobody to wake. So the list is looked at once more,
  // in the same synchronous block that sets `wake`.
  const asleep = Effect.callback<void>((resume) => {
    if (waiting.length > 0) return resume(Effect.void)
    wake = resume
  })

  /** False if no loop waited. */
  const turn = () => {
    const now = waiting.splice(0, per_turn)
    left = per_turn - now.length
    for (const loop of now) loop.resume()
    return now.length > 0
  }

  // In a fiber of its own: a loop must not go on in the asynchronous context of whatever scheduled another.
  const turns = Effect.gen(function* () {
    for (;;) {
      yield* asleep
      do yield* Effect.yieldNow
      while (turn())
    }
  })
  yield* Effect.forkScoped(turns, { startImmediately: true })

  return {
    schedule: (loop) => {
      const begin = wake
      wake = undefined
      begin?.(Effect.void)
      if (left > 0 && waiting.length === 0) {
        left--
        loop.resume()
      } else waiting.push(loop)
    },
    waiting: () => waiting.length
  }
})

/** How a runtime makes its scheduler. */
export const LoopScheduling = Context.Reference<typeof make>("troupe/LoopScheduling", {
  defaultValue: () => make
})
