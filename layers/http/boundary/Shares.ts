/**
 * Bounds how many operations that take much memory run at the same time: in this process, for one tenant and for one principal.
 * If there is no room, an operation waits in the order of arrival. One that waits because its own tenant or principal has used up
 * its share is overtaken by others.
 */
import { Effect } from "effect"
import { makeProblem } from "../../../src/operation/Problem.ts"
import type { Problem } from "../../../src/operation/Problem.ts"
import { Counts } from "../../../src/value/Counts.ts"

export interface ShareBounds {
  readonly principal: number
  readonly tenant: number
  readonly all: number
  /** The longest wait for a share, in ms. */
  readonly wait_ms: number
}

/** The owners of a share, by keys that no two owners have in common. */
export interface ShareKeys {
  readonly principal: string
  readonly tenant: string
}

const busy = (wait_ms: number) =>
  makeProblem(
    503,
    "busy",
    "Too much is asked for at the same time",
    `There was no room for it within ${wait_ms / 1_000} s. Ask again, and for less at a time.`
  )

interface Place {
  readonly keys: ReadonlyArray<readonly [key: string, bound: number]>
  isHeld: boolean
  resume: () => void
}

export class Shares {
  readonly #bounds: ShareBounds
  readonly #taken = new Counts()
  readonly #waiting = new Set<Place>()

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds
  }

  /** The number of owners with a share. */
  get size(): number {
    return this.#taken.all.size
  }

  /** Runs the Effect with a share. Fails if no share is free in time. */
  hold<A, E, R>(
    keys: ShareKeys,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | Problem<503>, R> {
    // Nothing interrupts between taking a share and returning it: a share that was left behind would be gone for good.
    return Effect.acquireUseRelease(
      Effect.sync(() => this.#enter(keys)),
      // Requests that arrive together are read one after the other, and returning a share resumes the next request at once. The
      // yield lets others run before each request begins.
      (place) => Effect.andThen(this.#turn(place), Effect.andThen(Effect.yieldNow, effect)),
      (place) => Effect.sync(() => this.#leave(place))
    )
  }

  #enter(keys: ShareKeys): Place {
    const place: Place = { keys: this.#boundsOf(keys), isHeld: false, resume: () => {} }
    if (!this.#take(place)) this.#waiting.add(place)
    return place
  }

  #turn(place: Place): Effect.Effect<void, Problem<503>> {
    if (place.isHeld) return Effect.void
    const turn = Effect.callback<void>((given) => {
      if (place.isHeld) return given(Effect.void)
      place.resume = () => given(Effect.void)
    })
    return Effect.timeoutOrElse(turn, {
      duration: this.#bounds.wait_ms,
      orElse: () => Effect.fail(busy(this.#bounds.wait_ms))
    })
  }

  #boundsOf({ principal, tenant }: ShareKeys): Place["keys"] {
    const { all, principal: own, tenant: theirs } = this.#bounds
    return [
      [principal, own],
      [tenant, theirs],
      ["", all]
    ]
  }

  #take(place: Place): boolean {
    if (place.keys.some(([key, bound]) => this.#taken.of(key) >= bound)) return false
    for (const [key] of place.keys) this.#taken.add(key, 1)
    place.isHeld = true
    return true
  }

  #leave(place: Place): void {
    this.#waiting.delete(place)
    if (!place.isHeld) return
    for (const [key] of place.keys) this.#taken.add(key, -1)
    // One share was returned, so at most one can be given away.
    for (const next of this.#waiting) {
      if (!this.#take(next)) continue
      this.#waiting.delete(next)
      return next.resume()
    }
  }
}
