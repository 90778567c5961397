/**
 * Dispatches that this process holds: of tasks that it accepted and is to begin itself. Each is held by a claim of its own,
 * named `<owner>.<n>`, from before the task is accepted until its run is begun, or the dispatch is given back to the relays:
 * when the acceptance failed, so that nobody knows what it wrote, and when the actor left without it. What a killed process
 * held is free when its claims end, or when another process finds that it is gone.
 */
import { Effect } from "effect"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { MessageId } from "../../../src/value/Ids.ts"
import type { Claim } from "../../../services/RunOwnership.ts"
import type { Outbox } from "../../../services/Outbox.ts"
import { makeResilientClaims } from "../relay/ResilientClaims.ts"

/** An accepted task whose dispatch a claim of this process holds, or whose run began for it with the task. */
export interface ClaimedTask {
  readonly task: AgentTask
  readonly dispatch: { readonly id: MessageId; readonly claim: string }
  /** There is no dispatch to hold. */
  readonly begun?: Claim | undefined
}

export interface ClaimedDispatches {
  /** A new claim, for one acceptance. */
  readonly claim: () => { readonly owner: string; readonly lease_ms: number }
  /** Nothing is held by the claim, or not any more. */
  readonly settle: (claim: string) => void
  /** Gives back what the claim holds, if anything. Retries while the store is away, for the length of the lease. */
  readonly giveBack: (claim: string) => Effect.Effect<void>
  /** The same of every claim that is not settled. */
  readonly giveBackAll: Effect.Effect<void>
}

export const make = (
  outbox: Outbox["Service"],
  owner: string,
  lease_ms: number,
  isStopping: () => boolean
): ClaimedDispatches => {
  const open = new Set<string>()
  const { report } = makeResilientClaims(outbox.release, lease_ms, isStopping)
  let claims = 0
  const forget = (held: ReadonlyArray<string>) =>
    Effect.sync(() => held.forEach((claim) => open.delete(claim)))
  const release = (held: ReadonlyArray<string>) =>
    held.length === 0
      ? Effect.void
      : Effect.matchEffect(report(outbox.release(held)), {
          onSuccess: () => forget(held),
          onFailure: ({ message }) =>
            Effect.andThen(
              // It was tried for as long as a lease is: nothing is held by now. A stop gives up sooner, and tries once more.
              isStopping() ? Effect.void : forget(held),
              Effect.logWarning(`a message was not given back to the relays: ${message}`)
            )
        })
  return {
    claim: () => {
      const name = `${owner}.${++claims}`
      open.add(name)
      return { owner: name, lease_ms }
    },
    settle: (claim) => void open.delete(claim),
    giveBack: (claim) => Effect.suspend(() => (open.has(claim) ? release([claim]) : Effect.void)),
    giveBackAll: Effect.suspend(() => release([...open]))
  }
}
