/**
 * Which owners of claims live. A lease says that an owner lives for so long; this says at once that one is gone, so that
 * nobody waits for the lease of a process that was killed. It is no fence: what an owner that was believed gone still
 * writes is refused by epochs and by the names of claims, as ever.
 */
import { Context, Effect } from "effect"
import type { Scope } from "effect"

export interface Owners {
  /**
   * Lets others know within about two seconds when this owner is gone, until the scope closes. Owners of claims
   * (`<owner>.<n>`) are named after it. Others know as well what it hosts (agents, or more: `Needs`); absent = nothing.
   * Never fails: where it cannot, its leases pass as they do without.
   */
  attend(owner: string, hosted?: ReadonlyArray<string>): Effect.Effect<void, never, Scope.Scope>
  /** Calls back when owners are gone: their runs and claims are free. Until the scope closes. */
  gone(listener: () => void): Effect.Effect<void, never, Scope.Scope>
}

/** Without an answer leases decide alone, as in one process, which nobody outlives. */
export const Owners = Context.Reference<Owners>("troupe/services/Owners", {
  defaultValue: () => ({ attend: () => Effect.void, gone: () => Effect.void })
})
