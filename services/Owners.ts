/**
 * Which owners of claims are alive. A lease expires some time after its owner's death; this reports the death at once, so
 * that nobody waits for the lease of a process that was killed. It is no fence: epochs and the names of claims refuse what
 * an owner still writes that was wrongly believed gone.
 */
import { Context, Effect } from "effect"
import type { Scope } from "effect"

export interface Owners {
  /**
   * Registers an owner until the scope closes, so that others know within a second when it is gone. Its claims
   * are named `<owner>.<n>`. `hosted` tells others what it hosts (agents, or more: `Needs`); absent = nothing. Never fails:
   * an owner that could not be registered is gone when its leases expire.
   */
  attend(owner: string, hosted?: ReadonlyArray<string>): Effect.Effect<void, never, Scope.Scope>
  /** Calls back when owners are gone and their runs and claims are free, until the scope closes. */
  gone(listener: () => void): Effect.Effect<void, never, Scope.Scope>
  /**
   * Did this owner seem gone at the last look? It may still come back: what it holds is free only when `gone` calls. False
   * for an owner of which nothing is known.
   */
  seemsGone(owner: string): boolean
}

/** The default does nothing: leases alone decide, which is enough for one process. */
export const Owners = Context.Reference<Owners>("troupe/services/Owners", {
  defaultValue: () => ({
    attend: () => Effect.void,
    gone: () => Effect.void,
    seemsGone: () => false
  })
})
