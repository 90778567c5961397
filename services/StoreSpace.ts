/**
 * Whether there is room left where a store writes. A store that is full refuses writes and answers reads, so that a read does not
 * tell; who asks whether a process may be sent work asks this too.
 */
import { Context, Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

export interface StoreSpace {
  /** Fails where a write would soon be refused. Looks at the file system, and writes nothing. */
  readonly check: Effect.Effect<void, StoreError>
}

/** The default knows nothing: the room of a server is watched at the server. */
export const StoreSpace = Context.Reference<StoreSpace>("troupe/services/StoreSpace", {
  defaultValue: () => ({ check: Effect.void })
})
