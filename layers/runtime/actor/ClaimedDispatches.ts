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
import { makeResilientClaims } from "../relay/ClaimLoop.ts"

/** An accepted task whose dispatch a claim of this process holds, or whose run began for it with the task. */
export interface ClaimedTask {
  readonly task: AgentTask
  readonly dispatch: { readonly id: MessageId; readonly claim: string }
  /** There is no dispatch to hold. */
  readonly begun?: Claim | undefined
}

export type ClaimedDispatches = ReturnType<typeof make>

export const make = (
  outbox: Outbox["Service"],
  owner: string,
  lease_ms: number,
  isStopping: () => boolean
) => {
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
    /** A new claim, for one acceptance. */
    claim: () => {
      const name = `${owner}.${++claims}`
      open.add(name)
      return { owner: name, lease_ms }
    },
    /** Nothing is held by the claim, or not any more. */
    settle: (claim: string) => void open.delete(claim),
    /** Gives back what the claim holds, if anything. Retries while the store is away, for the length of the lease. */
    giveBack: (claim: string) =>
      Effect.suspend(() => (open.has(claim) ? release([claim]) : Effect.void)),
    /** The same of every claim that is not settled. */
    giveBackAll: Effect.suspend(() => release([...open]))
  }
}
