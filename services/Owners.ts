/**
 * Which owners of claims are alive. A lease expires some time after its owner's death; this reports the death at once, so that
 * nobody has to wait for the lease of a killed process. It is not a fence: if an owner was wrongly believed gone, its later
 * writes are refused by epochs and claim names.
 */
import { Context, Effect } from "effect"
import type { Scope } from "effect"

export interface Owners {
  /**
   * Registers an owner until the scope closes, so that other processes know within a second when it is gone. Its claims are named
   * `<owner>.<n>`. `hosted` says what it hosts (agents, or more: `Needs`); absent = nothing. Never fails: where the registration
   * does not succeed, the owner counts as gone when its leases expire.
   */
  register(owner: string, hosted?: ReadonlyArray<string>): Effect.Effect<void, never, Scope.Scope>
  /** Calls back when owners are gone and their runs and claims are free, until the scope closes. */
  onExpired(listener: () => void): Effect.Effect<void, never, Scope.Scope>
  /**
   * Whether this owner seemed dead at the last check, or was gone then or some seconds before. It may still come back: what it
   * holds is free only after `onExpired` has called back. False for an unknown owner.
   */
  isProbablyDead(owner: string): boolean
}

/** The default does nothing: leases alone decide, which is enough for one process. */
export const Owners = Context.Reference<Owners>("troupe/services/Owners", {
  defaultValue: () => ({
    register: () => Effect.void,
    onExpired: () => Effect.void,
    isProbablyDead: () => false
  })
})
