/**
 * The keys that calls hold, as a database keeps them: a reservation counts once its transaction commits, and another one of
 * the same key waits for that transaction's end.
 */
import { Deferred, Effect } from "effect"
import type { IdempotencyKeys, KeyClaim, KeyHolder } from "../../services/IdempotencyKeys.ts"
import type { Process } from "./Kernel.ts"

interface Reserved {
  readonly claim: KeyClaim
  readonly process: Process
  readonly over: Deferred.Deferred<void>
}

export class Keys {
  readonly #held = new Map<string, KeyClaim & Pick<KeyHolder, "freed">>()
  /** Until when each call holds its key, by `RUN CALL`; 0 = an operator has freed it, or another call has it since its time. */
  readonly until = new Map<string, number>()
  readonly #reserved = new Map<string, Reserved>()

  #standing(key: string, now: number): KeyHolder | undefined {
    const found = this.#held.get(key)
    return found === undefined || found.expires_at <= now ? undefined : found
  }

  /** The keys as one process reserves them. The simulation has one tenant. */
  of(process: Process): IdempotencyKeys["Service"] {
    const reserve: IdempotencyKeys["Service"]["reserve"] = (claim, over) =>
      Effect.suspend(() => {
        const { at, call, key, run } = claim
        const other = this.#reserved.get(key)
        if (other !== undefined)
          return Effect.andThen(Deferred.await(other.over), reserve(claim, over))
        const holder = this.#standing(key, at)
        const isFree =
          holder === undefined ||
          (holder.run === run && holder.call === call) ||
          (holder.run === over?.run && holder.call === over.call && holder.seq === over.seq)
        if (isFree) this.#reserved.set(key, { claim, process, over: Deferred.makeUnsafe() })
        return Effect.succeed(isFree)
      })
    return {
      find: (_tenant, key, now) => Effect.sync(() => this.#standing(key, now)),
      reserve,
      free: ({ call, run }, freed) =>
        Effect.sync(() => {
          const found = [...this.#held].find(([, held]) => held.run === run && held.call === call)
          if (found === undefined || found[1].freed !== undefined) return false
          this.#held.set(found[0], { ...found[1], freed })
          this.until.set(`${run} ${call}`, 0)
          return true
        })
    }
  }

  /** Ends the reservations of a process, all of them or those of one run: they count if its transaction has committed. */
  end(process: Process, run?: string, committed = false) {
    for (const [key, { claim, over, process: owner }] of this.#reserved) {
      if (owner !== process || (run !== undefined && claim.run !== run)) continue
      this.#reserved.delete(key)
      if (committed) {
        // Whose time was over does not hold it again, however far a clock jumps back while the next one acts.
        const before = this.#held.get(key)
        if (before !== undefined && before.expires_at <= claim.at) {
          this.until.set(`${before.run} ${before.call}`, 0)
        }
        this.#held.set(key, claim)
        this.until.set(`${claim.run} ${claim.call}`, claim.expires_at)
      }
      Deferred.doneUnsafe(over, Effect.void)
    }
  }
}
