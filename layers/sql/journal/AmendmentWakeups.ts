/**
 * Wakeups of amendments: this process is woken at its commit, the others by the database. What others woke while the
 * listener's connection was lost is not repeated: once it is back, listeners are called with `undefined`. Private to this room.
 */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import type { Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { AmendmentListener, Claim, Claimant, RunHead } from "../../../services/RunJournal.ts"
import { claimingListener } from "../../../services/RunJournal.ts"
import type { RunId } from "../../../src/Ids.ts"
import { isRunId } from "../../../src/Ids.ts"
import { SqlNotify } from "../engine/SqlNotify.ts"

/** The payload is the process that amended and the run. */
export const channel = "troupe_amended"

/** A claim that was made with an amendment, and the listener whose claimant made it. */
export interface ClaimFor {
  readonly listener: AmendmentListener
  readonly claim: Claim
}

export interface AmendmentWakeups {
  /** What the payload of this process's notifications begins with. */
  readonly sender: string
  /** Calls the listeners of this process. Call it after the commit. `claim`: for the listener that has the run claimed. */
  readonly call: (run: RunId, claim?: ClaimFor) => void
  /** The listener that has the run claimed, of which this is the head after its amendment; `waited` as there. */
  readonly claimingListener: (head: RunHead, waited: boolean) => AmendmentListener | undefined
  /** In the transaction that amends: notifies the others, and calls this process's listeners once it has committed. */
  readonly wake: (run: RunId) => Effect.Effect<void, SqlError.SqlError>
  readonly amended: (
    woken: AmendmentListener["woken"],
    claimant?: Claimant
  ) => Effect.Effect<void, never, Scope.Scope>
}

export const make = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient
): Effect.fn.Return<AmendmentWakeups, SqlError.SqlError, Scope.Scope | SqlNotify> {
  const notify = yield* SqlNotify
  const self = randomUUID()
  const sender = `${self} `
  const listeners = new Set<AmendmentListener>()
  const call = (run: RunId | undefined, claimed?: ClaimFor) => {
    for (const listener of listeners) {
      listener.woken(run, claimed?.listener === listener ? claimed.claim : undefined)
    }
  }
  yield* notify.listen(channel, (payload) => {
    if (payload === undefined) return call(undefined)
    const [from, run] = payload.split(" ")
    if (from !== self && isRunId(run)) call(run)
  })
  return {
    sender,
    call,
    claimingListener: (head, waited) => claimingListener(listeners, head, waited),
    wake: (run) =>
      Effect.andThen(
        sql.unsafe(`SELECT pg_notify($1::text, $2::text)`, [channel, sender + run]),
        sql.afterCommit(Effect.sync(() => call(run)))
      ),
    amended: (woken, claimant) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          // A set of its own entries: the same function may listen twice.
          const entry = { woken, claimant }
          listeners.add(entry)
          return entry
        }),
        (entry) => Effect.sync(() => listeners.delete(entry))
      ).pipe(Effect.asVoid)
  }
})
