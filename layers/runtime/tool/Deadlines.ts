/**
 * One timer for every deadline of a runtime. A timer per call costs half a microsecond and an allocation each; almost no
 * call meets its deadline, so an armed deadline is an entry in a heap, and arming and disarming take the logarithm of
 * how many are armed. The rows "step" and "parked, resident" of the bench pay for it.
 */
import { Clock, Effect, Latch } from "effect"
import type { Scope } from "effect"

/** Something that is due once. What waits extends it, so that a deadline is no object of its own. */
export abstract class Deadline {
  /** In ms of the monotonic clock, while it is armed. */
  at = 0
  /** Its index in the heap; -1 = not armed. */
  index = -1
  abstract fire(): void
}

class Call extends Deadline {
  readonly #fire: () => void
  constructor(fire: () => void) {
    super()
    this.#fire = fire
  }
  fire() {
    this.#fire()
  }
}

export interface Deadlines {
  /** Fires it once after `ms`, unless it is disarmed before. It must not be armed. */
  readonly arm: (deadline: Deadline, ms: number) => void
  /** Nothing where it fired or was never armed. */
  readonly disarm: (deadline: Deadline) => void
  /** Calls `fire` once after `ms`, unless the returned function is called before. */
  readonly after: (ms: number, fire: () => void) => () => void
  /** Deadlines that are armed. */
  readonly armed: () => number
}

/** A binary heap whose earliest entry comes first; each entry knows its index, so that any of them can be removed. */
class Heap {
  readonly entries: Array<Deadline> = []

  add(entry: Deadline) {
    this.entries.push(entry)
    this.#up(entry, this.entries.length - 1)
  }

  remove(entry: Deadline) {
    const { index } = entry
    const last = this.entries.pop()!
    entry.index = -1
    if (last === entry) return
    if (index > 0 && last.at < this.entries[(index - 1) >> 1]!.at) this.#up(last, index)
    else this.#down(last, index)
  }

  #put(entry: Deadline, index: number) {
    this.entries[index] = entry
    entry.index = index
  }

  #up(entry: Deadline, from: number) {
    let index = from
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = this.entries[parent]!
      if (above.at <= entry.at) break
      this.#put(above, index)
      index = parent
    }
    this.#put(entry, index)
  }

  #down(entry: Deadline, from: number) {
    const { length } = this.entries
    let index = from
    for (;;) {
      let child = 2 * index + 1
      if (child >= length) break
      if (child + 1 < length && this.entries[child + 1]!.at < this.entries[child]!.at) child++
      const below = this.entries[child]!
      if (entry.at <= below.at) break
      this.#put(below, index)
      index = child
    }
    this.#put(entry, index)
  }
}

/** The timer lives as long as the scope; deadlines that are still armed then never fire. */
export const make: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  // The wall clock may be set while a deadline is armed: back, and a call would run for as much longer.
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000
  const wakeup = yield* Latch.make(false)
  const heap = new Heap()
  /** When the timer fires; later deadlines need no other timer. */
  let next = Infinity
  let rearm = Latch.makeUnsafe(false)

  const fireDue = () => {
    const due = now()
    // What is armed meanwhile has its turn after the next look at the clock.
    for (let left = heap.entries.length; left > 0; left--) {
      const first = heap.entries[0]
      if (first === undefined || first.at > due) return
      heap.remove(first)
      first.fire()
    }
  }

  yield* Effect.forkScoped(
    Effect.forever(
      Effect.suspend(() => {
        const first = heap.entries[0]
        next = first === undefined ? Infinity : first.at
        if (first === undefined) {
          wakeup.closeUnsafe()
          return wakeup.await
        }
        rearm = Latch.makeUnsafe(false)
        return Effect.andThen(
          Effect.raceFirst(Effect.sleep(Math.max(next - now(), 0)), rearm.await),
          Effect.sync(fireDue)
        )
      })
    ),
    { startImmediately: true }
  )

  const arm = (deadline: Deadline, ms: number) => {
    deadline.at = now() + ms
    heap.add(deadline)
    if (deadline.at >= next) return
    next = deadline.at
    wakeup.openUnsafe()
    rearm.openUnsafe()
  }
  const disarm = (deadline: Deadline) => {
    if (deadline.index !== -1) heap.remove(deadline)
  }
  return {
    arm,
    disarm,
    after: (ms, fire) => {
      const call = new Call(fire)
      arm(call, ms)
      return () => disarm(call)
    },
    armed: () => heap.entries.length
  }
})
