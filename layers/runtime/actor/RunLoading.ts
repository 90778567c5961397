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

export class RunLoading {
  readonly #lines: Readonly<Record<Line, Set<() => void>>> = { found: new Set(), sent: new Set() }
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
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(this.#enter(line)), (hasWaited) => {
        const loaded = Effect.ensuring(
          restore(load),
          Effect.sync(() => this.#leave())
        )
        // It was resumed by the one that left, whose own work goes on first: or each would stand on the stack of the last.
        return hasWaited ? Effect.andThen(Effect.yieldNow, loaded) : loaded
      })
    )
  }

  /** Gives whether it had to wait. */
  #enter(line: Line): Effect.Effect<boolean> {
    return Effect.callback((resume) => {
      if (this.#free > 0) {
        this.#free--
        return resume(Effect.succeed(false))
      }
      const waiting = this.#lines[line]
      const enter = () => resume(Effect.succeed(true))
      waiting.add(enter)
      return Effect.sync(() => void waiting.delete(enter))
    })
  }

  /** Gives the place to whoever is next, or keeps it free. */
  #leave(): void {
    const other: Line = this.#next === "sent" ? "found" : "sent"
    const line = this.#lines[this.#next].size > 0 ? this.#next : other
    const [enter] = this.#lines[line]
    if (enter === undefined) {
      this.#free++
      return
    }
    this.#next = line === "sent" ? "found" : "sent"
    this.#lines[line].delete(enter)
    enter()
  }
}
