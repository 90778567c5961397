/**
 * How many loops of a runtime go on before the event loop turns. A thousand model turns that end within one moment would
 * otherwise hold it for as long as all of them take to decide, and with it every request and every timer of the process.
 */
import { Context, Effect } from "effect"
import type { Scope } from "effect"

/** What goes on now or a little later, and may have no reason to by then. */
export interface ScheduledLoop {
  resume(): void
}

export interface LoopScheduler {
  /** Lets it go on: at once, or in one of the next turns of the event loop, behind those that wait already. */
  readonly schedule: (loop: ScheduledLoop) => void
  /** Those that wait for a turn. */
  readonly waiting: () => number
}

export const loops_per_turn = 128

/** `per_turn`: at least 1. Who waits when the scope ends waits for ever. */
export const make = Effect.fnUntraced(function* (
  per_turn: number
): Effect.fn.Return<LoopScheduler, never, Scope.Scope> {
  const waiting: Array<ScheduledLoop> = []
  let left = per_turn
  let wake: ((go: Effect.Effect<void>) => void) | undefined

  // Who came between the last look and this sleep woke nobody, so the queue is looked at once more, in the same
  // synchronous block that makes the sleep one that can be ended.
  const asleep = Effect.callback<void>((resume) => {
    if (waiting.length > 0) return resume(Effect.void)
    wake = resume
  })

  /** False: nobody waited for it. */
  const turn = () => {
    const now = waiting.splice(0, per_turn)
    left = per_turn - now.length
    for (const loop of now) loop.resume()
    return now.length > 0
  }

  // In a fiber of its own, so that nobody goes on in the asynchronous context of whoever happened to come before.
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
