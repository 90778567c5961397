/**
 * Keeps listeners in a set, each for as long as a scope is open.
 */
import { Effect } from "effect"
import type { Scope } from "effect"

/** Adds the listener until the scope closes. */
export const listenIn = <A>(
  listeners: Set<A>,
  listener: A
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => void listeners.add(listener)),
    () => Effect.sync(() => void listeners.delete(listener))
  )
