/**
 * Bounds how many runs are loaded from the journal at the same time. Those that wait for a place stand in one of two lines,
 * the oldest first, and the lines take turns: a message does not wait for all the runs that a recovery found before it.
 *
 * Not a Semaphore, which looks at everybody who waits whenever one leaves: 10,000 runs that were found at once would cost
 * seconds for that alone (bench row `resume`).
 */
import { Effect } from "effect"

/** What a sweep found, and what a message, a decision or a cancel began. */
export type Line = "found" | "sent"

interface Place {
  isHeld: boolean
  resume: () => void
}

export class RunLoading {
  readonly #lines: Readonly<Record<Line, Set<Place>>> = { found: new Set(), sent: new Set() }
  readonly #places: number
  #free: number
  /** Whose turn it is where both wait. */
  #next: Line = "sent"

  constructor(places: number) {
    this.#places = places
    this.#free = places
  }

  /** As many wait as there are places: a claim that had to wait now would keep all events of its run in memory meanwhile. */
  get isCrowded(): boolean {
    return this.#lines.found.size + this.#lines.sent.size >= this.#places
  }

  /** Runs `load` in a place of its own, as soon as there is one. */
  withPermit<A, E, R>(line: Line, load: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    // Nothing interrupts between taking a place and returning it: one that was left behind would be gone for good.
    return Effect.acquireUseRelease(
      Effect.sync(() => this.#enter(line)),
      (place) => (place.isHeld ? load : Effect.andThen(this.#turn(place), load)),
      (place) => Effect.sync(() => this.#leave(line, place))
    )
  }

  #enter(line: Line): Place {
    if (this.#free > 0) {
      this.#free--
      return { isHeld: true, resume: () => {} }
    }
    const place: Place = { isHeld: false, resume: () => {} }
    this.#lines[line].add(place)
    return place
  }

  #turn(place: Place): Effect.Effect<void> {
    return Effect.callback((resume) => {
      if (place.isHeld) return resume(Effect.void)
      // It is resumed by the one that left, whose own work goes on first: or each would stand on the stack of the last.
      place.resume = () => resume(Effect.yieldNow)
    })
  }

  /** Gives the place to whoever is next, or keeps it free. */
  #leave(of: Line, place: Place): void {
    this.#lines[of].delete(place)
    if (!place.isHeld) return
    const other: Line = this.#next === "sent" ? "found" : "sent"
    const line = this.#lines[this.#next].size > 0 ? this.#next : other
    const [next] = this.#lines[line]
    if (next === undefined) {
      this.#free++
      return
    }
    this.#next = line === "sent" ? "found" : "sent"
    this.#lines[line].delete(next)
    next.isHeld = true
    next.resume()
  }
}
