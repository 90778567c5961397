/**
 * Whether there is room left where a store writes. A store that is full refuses writes and answers reads, so that reads do not
 * show it: whoever asks whether a process may be sent work asks this too.
 */
import { Context, Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

export interface StoreSpace {
  /** Fails where a write would be refused, or soon. Writes nothing, unless one was refused: then it tries one. */
  readonly check: Effect.Effect<void, StoreError>
}

/** The default knows nothing: what is kept in memory needs no room. */
export const StoreSpace = Context.Reference<StoreSpace>("troupe/services/StoreSpace", {
  defaultValue: () => ({ check: Effect.void })
})
