/**
 * One timer for every deadline of a runtime. A timer per call costs half a microsecond and an allocation each; almost no
 * call meets its deadline, so an armed deadline is an entry in a heap, and arming and disarming take the logarithm of
 * how many are armed (bench rows `step` and `waiting`).
 */
import { Clock, Effect, Latch } from "effect"
import type { Scope } from "effect"

/** Something that is due once. A class that waits extends it, so that its deadline is no further object. */
export abstract class Deadline {
  /** In ms of the monotonic clock, while it is armed. */
  at = 0
  /** Its index in the heap; -1 = not armed. */
  index = -1
  abstract fire(): void
}

class Callback extends Deadline {
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
  /** In ms of the monotonic clock. */
  readonly now: () => number
  /** Fires the deadline once after `ms`, unless it is disarmed before. It must not be armed already. */
  readonly arm: (deadline: Deadline, ms: number) => void
  /** Does nothing where the deadline has fired or was never armed. */
  readonly disarm: (deadline: Deadline) => void
  /** Calls `fire` once after `ms`, unless the returned function is called before. */
  readonly after: (ms: number, fire: () => void) => () => void
  /** How many deadlines are armed. */
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
    const last = this.entries.pop()
    entry.index = -1
    if (last === undefined || last === entry) return
    const parent = index > 0 ? this.entries[(index - 1) >> 1] : undefined
    if (parent !== undefined && last.at < parent.at) this.#up(last, index)
    else this.#down(last, index)
  }

  #put(entry: Deadline, index: number) {
    this.entries[index] = entry
    entry.index = index
  }

  #up(entry: Deadline, from: number) {
    let index = from
    while (index > 0) {
      const above = (index - 1) >> 1
      const parent = this.entries[above]
      if (parent === undefined || parent.at <= entry.at) break
      this.#put(parent, index)
      index = above
    }
    this.#put(entry, index)
  }

  #down(entry: Deadline, from: number) {
    let index = from
    for (;;) {
      const child = this.#earlierChild(index)
      if (child === undefined || entry.at <= child.at) break
      const below = child.index
      this.#put(child, index)
      index = below
    }
    this.#put(entry, index)
  }

  /** Never reads beyond the end, which would make every read of the list slower. */
  #earlierChild(index: number): Deadline | undefined {
    const { length } = this.entries
    const left = 2 * index + 1
    const first = left < length ? this.entries[left] : undefined
    const second = left + 1 < length ? this.entries[left + 1] : undefined
    return first !== undefined && second !== undefined && second.at < first.at ? second : first
  }
}

/** The timer lives as long as the scope; deadlines that are still armed then never fire. */
export const make: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  // By the monotonic clock: where the wall clock is set back, a call would run for as much longer.
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000
  const wakeup = yield* Latch.make(false)
  const heap = new Heap()
  /** When the timer fires; later deadlines need no other timer. */
  let next = Infinity
  let rearm = Latch.makeUnsafe(false)

  const fireDue = () => {
    const due = now()
    // At most as many as are armed now: what they arm is fired after the clock was read again.
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
    now,
    arm,
    disarm,
    after: (ms, fire) => {
      const callback = new Callback(fire)
      arm(callback, ms)
      return () => disarm(callback)
    },
    armed: () => heap.entries.length
  }
})
