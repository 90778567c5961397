/**
 * Wakeups after amendments: listeners in this process are called after the commit, other processes are notified by the database.
 * While the listener's connection is lost, notifications from other processes are lost too and are not repeated; once the
 * connection is back, every listener is called with `undefined`. Private to this room.
 */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import type { Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { AmendmentListener, Claimant } from "../../../services/RunNews.ts"
import { claimingListener } from "../../../services/RunNews.ts"
import type { Claim } from "../../../services/RunOwnership.ts"
import type { RunHead } from "../../../services/RunReader.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { isRunId } from "../../../src/value/Ids.ts"
import { SqlNotify } from "../engine/SqlNotify.ts"

/** The notification channel. A payload is the id of the process that amended and the ids of the runs, separated by spaces. */
const channel = "troupe_amended"

/** A claim that was appended together with an amendment, and the listener whose claimant made the claim. */
export interface ClaimFor {
  readonly listener: AmendmentListener
  readonly claim: Claim
}

export interface AmendmentWakeups {
  /** The prefix of the payloads that this process sends: its own id and a space. */
  readonly sender: string
  /**
   * Calls this process's listeners; to be used only after the commit. `claim` is passed to the one listener that claimed the run.
   */
  readonly call: (run: RunId, claim?: ClaimFor) => void
  /**
   * The listener whose claimant takes the run. `head` is the head after the amendment, `waited` is as in `claimingListener` of
   * the port.
   */
  readonly claimingListener: (head: RunHead, waited: boolean) => AmendmentListener | undefined
  /**
   * For use in the transaction that amends: notifies the other processes, and calls this process's listeners after the commit.
   */
  readonly wake: (run: RunId) => Effect.Effect<void, SqlError.SqlError>
  readonly onAmended: (
    listener: AmendmentListener["onAmended"],
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
      listener.onAmended(run, claimed?.listener === listener ? claimed.claim : undefined)
    }
  }
  yield* notify.listen(channel, (payload) => {
    if (payload === undefined) return call(undefined)
    const [from, ...runs] = payload.split(" ")
    if (from === self) return
    for (const run of runs) if (isRunId(run)) call(run)
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
    onAmended: (onAmended, claimant) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          // Each registration is a new object, because the same function may listen twice.
          const entry = { onAmended, claimant }
          listeners.add(entry)
          return entry
        }),
        (entry) => Effect.sync(() => listeners.delete(entry))
      ).pipe(Effect.asVoid)
  }
})
