/**
 * Whether there is room left where a store writes. A full store refuses writes but answers reads, so reads do not reveal it: a
 * check whether a process can take work has to ask this too.
 */
import { Context, Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

export interface StoreSpace {
  /**
   * Fails if a write would be refused, now or soon. It writes nothing, unless an earlier write was refused: then it tries one.
   */
  readonly check: Effect.Effect<void, StoreError>
}

/** The default always succeeds, because stores in memory need no room on a disk. */
export const StoreSpace = Context.Reference<StoreSpace>("troupe/services/StoreSpace", {
  defaultValue: () => ({ check: Effect.void })
})
