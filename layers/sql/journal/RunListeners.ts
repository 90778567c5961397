/**
 * What listeners are told: of entries that this process has committed, and of amendments. Entries are decoded from the stored text,
 * exactly as a reader of the journal would get them, and only for runs that a listener accepts. Private to this room.
 *
 * Listeners to amendments in this process are called after the commit, other processes are notified by the database. While the
 * connection that listens is lost, notifications of other processes are lost too and are not repeated; once it is back, every
 * listener is called with `undefined`.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import type { CommitListener, AmendmentListener, Claimant } from "../../../services/RunNews.ts"
import type { Claim } from "../../../services/RunOwnership.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import { mayEndWait } from "../../../src/run/RunEvent.ts"
import type { EncodedAppend } from "./AppendStatement.ts"
import { eventIn } from "./RunRows.ts"
import { listenIn } from "../../../src/value/Listeners.ts"
import { randomUUID } from "node:crypto"
import type { SqlClient, SqlError } from "effect/sql"
import { claimingListener } from "../../../services/RunNews.ts"
import type { RunHead } from "../../../services/RunReader.ts"
import { isRunId } from "../../../src/value/Ids.ts"
import { SqlNotify } from "../engine/SqlNotify.ts"

/** Events that a statement has stored, as types and JSON texts. `from` is the seq of the first. */
export interface Stored {
  readonly run: RunId
  readonly from: number
  /** ms since 1970. */
  readonly at: number
  readonly events: ReadonlyArray<{ readonly type: string; readonly payload: string }>
}

const decoded = ({ at, events, from }: Stored): ReadonlyArray<JournalEntry> | undefined => {
  const entries: Array<JournalEntry> = []
  for (const { payload } of events) {
    const event = eventIn(payload)
    if (event === undefined) return undefined
    entries.push({ seq: from + entries.length, at, event })
  }
  return entries
}

export class CommitListeners {
  readonly #listeners = new Set<CommitListener>()

  /**
   * Gives the entries to the listeners that want the run; to be called after the commit. They are decoded when one first asks,
   * once for all.
   */
  publish(stored: Stored): void {
    const { events, from, run } = stored
    let entries: ReadonlyArray<JournalEntry> | undefined
    for (const listener of this.#listeners) {
      if (!listener.accepts(run)) continue
      listener.onCommitted({
        run,
        from,
        count: events.length,
        isEnd: events.at(-1)?.type === "RunEnded",
        mayEndWait: events.some(({ type }) => mayEndWait(type)),
        size: events.reduce((size, { payload }) => size + payload.length, 0),
        entries: () => (entries ??= decoded(stored))
      })
    }
  }

  /** Call it after the commit. */
  publishAppend({ append, at, events }: EncodedAppend): void {
    this.publish({ run: append.run, from: append.fence.length, at, events })
  }

  /** Gives listeners the claim's `RunClaimed`, the only new one of its entries; to be called after the commit. */
  publishClaim({ entries, head: { run_id: run } }: Claim): void {
    const last = entries.at(-1)
    if (last === undefined) return
    for (const listener of this.#listeners) {
      if (!listener.accepts(run)) continue
      const entry = { run, from: last.seq, count: 1, isEnd: false, mayEndWait: false, size: 0 }
      listener.onCommitted({ ...entry, entries: () => [last] })
    }
  }

  /** Registers the listener until the scope closes. */
  listen(listener: CommitListener): Effect.Effect<void, never, Scope.Scope> {
    return listenIn(this.#listeners, listener)
  }
}

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

export const amendmentWakeups = Effect.fnUntraced(function* (
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
