/**
 * Code from outside that may throw where an Effect is wanted. The one `try` of this room: `Result.try` makes a closure
 * and a result for each turn that nobody looks at twice, and this is on the way of every one.
 */
import { Exit } from "effect"
import type { Effect } from "effect"

/** What `make` makes of `from`; what it throws is the Effect's defect. */
export const attempt = <A, B, E, R>(
  make: (from: A) => Effect.Effect<B, E, R>,
  from: A
): Effect.Effect<B, E, R> => {
  try {
    return make(from)
  } catch (defect) {
    return Exit.die(defect)
  }
}
