/**
 * Actors without a run, which wait for the next message of their address without a fiber: only what the next run would
 * otherwise load again. Each leaves after `idle_ms`, and the one that has waited longest where there are more than
 * `idle_max`. All of them share one deadline (bench row `send`).
 */
import { Deadline } from "../tool/Deadlines.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import type { Actor } from "./Actor.ts"

interface Bounds {
  readonly idle_ms: number
  readonly idle_max: number
}

export class IdleActors extends Deadline {
  readonly #deadlines: Deadlines
  readonly #bounds: Bounds
  readonly #leave: (actor: Actor) => void
  /** Since when, in ms of the monotonic clock; the oldest first. */
  readonly #since = new Map<Actor, number>()

  constructor(deadlines: Deadlines, bounds: Bounds, leave: (actor: Actor) => void) {
    super()
    this.#deadlines = deadlines
    this.#bounds = bounds
    this.#leave = leave
  }

  get size(): number {
    return this.#since.size
  }

  add(actor: Actor): void {
    this.#since.set(actor, this.#deadlines.now())
    const [oldest] = this.#since.keys()
    if (this.#since.size > this.#bounds.idle_max && oldest !== undefined) this.#end(oldest)
    if (this.index === -1 && this.#since.size > 0) this.#deadlines.arm(this, this.#bounds.idle_ms)
  }

  /** It has something to do. False = it was not idle. */
  take(actor: Actor): boolean {
    return this.#since.delete(actor)
  }

  fire(): void {
    const due = this.#deadlines.now() - this.#bounds.idle_ms
    for (const [actor, since] of this.#since) {
      if (since > due) return this.#deadlines.arm(this, since - due)
      this.#end(actor)
    }
  }

  /** All of them leave. */
  clear(): void {
    this.#deadlines.disarm(this)
    for (const actor of this.#since.keys()) this.#end(actor)
  }

  #end(actor: Actor): void {
    this.#since.delete(actor)
    this.#leave(actor)
  }
}
